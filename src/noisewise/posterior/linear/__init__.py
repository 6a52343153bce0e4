"""Linear regression from noisy sums of squares and products: one file per likelihood.

``coordinates`` has the working units that they share, ``methods`` samples from them, and ``posterior.methods`` names the methods.
"""
