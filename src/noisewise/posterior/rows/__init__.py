"""Linear regression from published rows whose cells carry noise (Bayesian measurement error, thesis 001, chapter 3).

Arrays in, draws out: nothing in this room but ``fit`` knows what a release is. ``problem`` states the model, ``rows`` draws what
the noise hides in each row, ``regressions`` draws the parameters, ``sampler`` runs chains of both.
"""
