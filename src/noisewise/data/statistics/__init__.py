"""What is summed up of the rows, one file for each kind of release: bounded row by row, exact, and the same however rows are cut.

Releases of kind adassp and binary are made of the Gram matrix too; `averaged` is an option of it, from the literature.
"""
