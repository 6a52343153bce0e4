"""Generalised linear models from released moments: one file per family, and what all families share.

`families` lists them; `columns` is the distribution of the released columns, `expectations` the integrals over it, `latent` and
`flat` the two likelihoods, `statistics` what is read from a release, `prior` the priors, `fit` wires.
"""
