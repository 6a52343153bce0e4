"""From a release of kind model to draws: the likelihood of its rounds (`noisewise.scores`), sampled.

    problem    a release as likelihoods, one for each holder, and a prior in the user's units
    density    the log density of coefficients, given a scale
    sampler    independence Metropolis steps, proposed by a normal approximation
    check      what the rounds say about a fit
    fit        draws in the user's units, with every doubt about them
"""
