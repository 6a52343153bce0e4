"""A fit to a release of kind moments, which contains noisy sums like kind gram."""

from noisewise.posterior.kinds.gram import fit

__all__ = ["fit"]
