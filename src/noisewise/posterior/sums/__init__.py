"""One column, one parameter: noise-aware posteriors from a noisy sum (Bernstein and Sheldon 2018), without a sampler.

    noisy_sum.py   the noisy sum of a column in a release, its noise and its number of rows
    families.py    Bernoulli, Poisson, exponential, normal: the law of a clipped row, the conjugate prior
    likelihood.py  the density of a noisy sum given the parameter, by its characteristic function
    exact.py       the posterior on a grid, and independent draws from it
    two.py         mean and standard deviation of a normal column together, from its noisy sum and sum of squares
    clipped.py     mean and standard deviation of a normal column after clipping, which its sums are about
    gibbs.py       the literature's sampler: normal approximation of the sum, Laplace noise as a scale mixture
    fit.py         `fit_sum`
"""
