"""What a release would be worth before anything is spent: from public declarations, by simulation, never from rows.

``assumptions`` is what is taken for true about the columns, ``responses`` how the response depends on them, ``population`` draws
tables' sums, ``noise`` adds the law of a mechanism's noise from a seed (nobody has to be protected from a simulated table),
``simulation`` makes releases of them and ``intervals`` fits these. ``power`` asks for widths and power, ``smallest`` for the
least epsilon, or the fewest rows, with which an effect is found.
"""
