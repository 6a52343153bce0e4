"""Random effects by site, a two-stage meta-analysis: ``moments`` and ``information`` say what each release tells of its own site,
``population`` what all of them tell of the population of sites."""
