"""Synthetic tables from a release, on the analyst's side: post-processing, which costs no privacy.

    exact_moments.py  rows with given moments, for other software that wants rows
"""
