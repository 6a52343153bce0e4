"""Linear regression from published rows with noise in every cell (Bayesian measurement error, thesis 001, chapter 3).

Arrays in, draws out: only ``fit`` knows what a release is. ``problem`` states the model, ``rows`` draws the hidden values of each
row, ``marginal`` draws the parameters, ``chain`` combines both in sweeps, and ``sampler`` runs the chains.
"""
