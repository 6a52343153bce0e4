"""Synthetic tables from a release, on the analyst's side: post-processing, which costs no privacy.

    sets.py              `synthesize`: several tables, each from its own draw from the posterior; one estimate out of all of them
    structure.py         what is known about a table's moments before any number is seen
    moment_posterior.py  draws of a table's moments given a release
    row_law.py           a law for rows with given moments: categories, then numbers
    files.py             CSV and Parquet
"""
