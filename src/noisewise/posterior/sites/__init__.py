"""Random effects by site, a two-stage meta-analysis: ``moments`` and ``information`` infer each site's parameters from its
release, and ``population`` infers the parameters of the population from all sites."""
