"""One column, one parameter: noise-aware posteriors from a noisy sum (Bernstein and Sheldon 2018), without a sampler.

    noisy_sum.py   the noisy sum of a column in a release, its noise and its number of rows
    families.py    Bernoulli, Poisson, exponential, normal: the law of a clipped row, the conjugate prior
    exact.py       the density of a noisy sum by its characteristic function; the posterior on a grid, and draws from it
    two.py         mean and standard deviation of a normal column together, from its noisy sum and sum of squares
    fit.py         `fit_sum`
"""
