"""Random effects by site, a two-stage meta-analysis: ``moments`` and ``information`` infer each site's parameters from its
release, ``population`` those of the population of sites from all of them."""
