"""Regressions within the random parts of a confidential table, and the answers of each part.

This is arithmetic on the exact moments of the parts, which only the data holder may see. The pure formulas that the analyst needs
too are in ``schema/partition.py`` and ``schema/search_grid.py``.
"""
