"""Linear regression from noisy sums of squares and products: one file per likelihood.

``coordinates`` has the working units that they share, ``methods`` the ways to sample them; ``posterior.methods`` names those.
"""
