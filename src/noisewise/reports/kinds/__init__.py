"""The parts of a report that depend on the kind of a release: one file per kind, found by its stem.

`view` has the defaults, which also serve kinds without a file. `sums` is shared by kinds whose release is a matrix of sums.
"""
