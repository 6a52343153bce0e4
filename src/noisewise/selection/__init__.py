"""From a release to the weights of models: Bayes factors, information criteria, inclusion probabilities, averages.

    compare.py             compare and synthetic_rows, the public functions; they wire the files below
    methods.py             the ways from noisy moments to weighed models, by name
    terms.py, units.py     which terms are in question, and the columns of each in working units
    moments.py             the released moments of all holders together, and how noisy they are
    evidence.py            Bayes factors of models, the noise taken account of; weighing.py has its linear algebra
    exact.py, subsets.py   the same without noise: R² of all subsets of the predictors, and integrals over g
    coefficient_priors.py  mixtures of g-priors, and information criteria
    model_priors.py        prior probabilities of models
    model_probabilities.py all models where they can be listed; walk.py: those that matter, where they cannot
    averaged.py            draws of coefficients averaged over models
    released_moments.py    draws of the table's own moments given the release, possible_tables.py: positive definite ones,
                           bands.py: what the analysis without privacy noise may have said about each term
    plug_in.py, regions.py, histogram.py, agreement.py    the estimators of the literature; noise_laws.py and cone_sampler.py
                           have the distributions that they need
    export.py              made-up rows with regularised moments, for other software
"""
