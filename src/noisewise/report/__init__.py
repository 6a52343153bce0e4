"""One self-contained HTML file about releases and what was fitted to them, for people who have neither Python nor time.

What belongs here is words, tables and drawings of things that exist already: nothing is fitted, no row of confidential data and
no privacy mechanism can be reached from this room. Release files come from strangers, so every text goes through a template that
escapes it, and the page's own policy lets a browser load nothing and run nothing but the script that is part of it.

    write.py        `report`, the one function that a user calls; assemble.py puts the page together
    given.py        release files and fits, read and told which belongs to which; origin.py what a fit records of that
    guarantee.py    the privacy guarantee in plain words and as chances of an attacker
    claims.py       whether the noise that a file states is enough for the guarantee that it states
    declared.py     columns, bounds and rules, and what the released sums say about them
    noise.py        how large the noise is, by statistic
    release_view.py all that is said about one release
    fits.py         coefficients and ratios; trust.py diagnostics and predictive checks; side_by_side.py several fits together
    comparisons.py  probabilities of models; answers.py those of partition releases
    redo.py         how to cite it and how to do it again; papers.py has the papers
    svg/            drawings: axes, intervals and densities of a term, ranks of chains
    tables.py       tables before they are HTML; numbers.py numbers as people read them
    texts.py        texts from strangers: what cannot be seen is written out, what is far too long is cut
    page.py         templates, style sheet and script become one file with a content security policy
"""
