"""One self-contained HTML file about releases and what was fitted to them, for people who have neither Python nor time.

What belongs here is words, tables and drawings of things that exist already: nothing is fitted, no row of confidential data and
no privacy mechanism can be reached from this room. Release files come from strangers, so every text goes through a template that
escapes it, and the page's own policy lets a browser load nothing and run nothing but the script that is part of it.

    write.py        `report`, the one function that a user calls: it puts the page together
    given.py        release files and fits, read and told which belongs to which
    guarantee.py    the privacy guarantee in plain words and as chances of an attacker
    declared.py     columns, bounds and rules, and what the released sums say about them
    kinds/          what depends on the kind of a release: its words, its noise, its examples, its answers
    release_view.py all that is said about one release
    fits.py         coefficients and ratios, of one fit and of several side by side; trust.py diagnostics and predictive checks
    comparisons.py  probabilities of models
    redo.py         how to cite it and how to do it again; papers.py has the papers
    drawings.py     axes, intervals and densities of a term, ranks of chains
    numbers.py      numbers as people read them, and tables of them before they are HTML
    page.py         templates, style sheet, script and texts from strangers become one file with a content security policy
"""
