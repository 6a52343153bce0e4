"""From releases to posterior draws; nothing here can reach confidential rows.

    fit.py, fit_many.py   a formula and releases in, posteriors out; they wire what is below
    asked.py, kinds/      what `fit` was asked for, and how it treats a release of each kind
    methods.py            the methods by name, those of ``noisewise.literature`` too, which nothing here imports
    request.py, prior.py  what a method is asked for and gives back; priors
    contributions.py      what the holders contributed, as the likelihoods see it
    linear/ glm/          regressions from noisy sums: linear, and generalised linear; sites/ random effects by site
    rows/                 linear regression from published rows
    sums/                 one column, one parameter
    kernels/              pure algorithms
"""
