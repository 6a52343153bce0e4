"""Regressions within the random parts of a table, and how their answers are put together.

Pure arithmetic on the moments of the parts, without rows and without noise: the data holder computes with it what is released,
and the analyst with the same functions what a release says.
"""
