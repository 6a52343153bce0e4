"""How `Posterior.check` compares a fit with each kind of release: one file per kind.

Each has ``can_check(posterior)``, whether a release of this kind has the statistics for it, and
``table(posterior, release, names, interval)``, which returns the table of a `PredictiveCheck`. ``ALONE`` says what could
contradict a fit to a single holder's release.
"""
