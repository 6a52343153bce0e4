"""Generalised linear models from released moments: every family with the same likelihoods.

`families` lists them. `columns` is the distribution of the released columns, `expectations` has the integrals over it,
`densities` the two likelihoods, `statistics` the sums of a release, `prior` the priors. `fit` connects them.
"""
