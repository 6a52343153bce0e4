"""One self-contained HTML file about releases and what was fitted to them, for people who have neither Python nor time.

This room holds words, tables and drawings of existing results. It fits nothing, and it cannot reach confidential rows or privacy
mechanisms. Release files come from strangers, so every text goes through a template that escapes it, and the page's own policy
lets a browser load nothing and run nothing but the script in the page.

    write.py        `report`, the one function that a user calls: it assembles the page
    given.py        reads release files and fits, and decides which belongs to which
    guarantee.py    the privacy guarantee in plain words and as chances of an attacker
    declared.py     columns, bounds and rules, and what the released sums say about them
    kinds/          what depends on the kind of a release: its words, its noise, its examples, its answers
    release_view.py everything about one release
    fits.py         coefficients and ratios, of one fit and of several side by side; trust.py has diagnostics and checks
    comparisons.py  probabilities of models
    redo.py         how to cite and repeat the results; papers.py has the papers
    drawings.py     axes, intervals and densities of a term, ranks of chains
    numbers.py      numbers and tables as people read them, before they become HTML
    page.py         combines templates, style sheet, script and untrusted text into one file with a content security policy
"""
