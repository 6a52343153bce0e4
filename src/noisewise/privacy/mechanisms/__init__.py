"""Mechanisms: calibrated noise, and a description of it for the analyst. One file for the mechanisms of each kind of release.

A mechanism is chosen from a sensitivity and (epsilon, delta) before the data are looked at: `calibrate`. Then `perturb` takes the
exact statistic in units of the grid and returns a noisy one, `cost` says what that spends, and `statement` what it guarantees.
Nothing else in the library adds privacy noise: only this room imports `noisewise.privacy.noise`.
"""
