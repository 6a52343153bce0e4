"""Mechanisms: calibrated noise, and its description for the analyst. One file for the mechanisms of each kind of release.

`calibrate` chooses a mechanism from a sensitivity and (epsilon, delta) before looking at the data. Then `perturb` takes the exact
statistic in units of the grid and returns a noisy one, `cost` says what that spends, and `statement` what it guarantees.
Nothing else in the library adds privacy noise: only this room imports `noisewise.privacy.noise`.
"""
