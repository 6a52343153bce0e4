"""The public arithmetic of a model release: what its rounds sum over rows, and what follows from the noisy sums.

Both sides of the wall need it: the data holder to choose each round's point from the noisy sums so far, the analyst to fit. It
reads no rows and draws no noise.

    families/    one file for each family of regression: the mean, slope and variance of the response
    nodes        a family's functions of the linear predictor, at the nodes of a grid
    rounds       the numbers of a release: the first look and the rounds
    looks        which sums the first look has
    reference    made-up rows that look like the table as far as noisy sums tell
    likelihood   how likely coefficients make the noisy sums
    estimate     the most likely coefficients, and how far they may be off
    next_round   where the next round looks, and how much of the budget it spends
"""
