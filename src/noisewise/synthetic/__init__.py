"""Synthetic tables from a release, on the analyst's side. This is post-processing and costs no privacy.

    sets.py              `synthesize`: several tables, each from its own posterior draw; one estimate from all of them
    structure.py         what is known about a table's moments before any number is seen
    moment_posterior.py  draws of a table's moments given a release
    row_law.py           a law for rows with given moments: categories, then numbers
    files.py             CSV and Parquet
"""
