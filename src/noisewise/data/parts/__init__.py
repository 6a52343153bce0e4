"""Regressions within the random parts of a confidential table, and what each part answers.

Arithmetic on the exact moments of the parts, which nobody but the data holder may see. What the analyst needs too, pure formulas
that know no table, is in ``schema/partition.py`` and ``schema/search_grid.py``.
"""
