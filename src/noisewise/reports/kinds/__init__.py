"""What a report says that depends on the kind of a release: one file for each, found by its stem.

`view` has the defaults, which a kind without a file gets; `sums` is common to kinds whose release is a matrix of sums.
"""
