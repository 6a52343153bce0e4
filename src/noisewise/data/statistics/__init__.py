"""The sums over rows, one file for each kind of release: bounded row by row, exact, and independent of how rows are batched.

Kinds adassp and binary use the Gram matrix too. `averaged` is an option of gram, from the literature.
"""
