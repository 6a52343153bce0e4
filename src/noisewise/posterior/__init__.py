"""From releases to posterior draws; nothing here can reach confidential rows.

    fit.py, fit_many.py   a formula and releases in, posteriors out; they connect the parts below
    asked.py, kinds/      the arguments of `fit`, and how it treats each kind of release
    methods.py            the methods by name, including those of ``noisewise.literature``, which nothing here imports
    request.py, prior.py  the input and output of a method; priors
    contributions.py      what the holders contributed, as the likelihoods see it
    linear/ glm/          regressions from noisy sums: linear, and generalised linear; sites/ random effects by site
    rows/                 linear regression from published rows
    sums/                 one column, one parameter
    kernels/              pure algorithms
"""
