"""A fit to a release of kind moments: noisy sums, as those of kind gram are."""

from noisewise.posterior.kinds.gram import fit

__all__ = ["fit"]
