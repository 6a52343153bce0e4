"""The data holder's side: declarations and rows in, a release out. Where `data` and `privacy` meet, and nowhere else.

The order is the point, in every file here. Everything that can be refused is refused first, from public declarations alone; then
the rows are read and summed; then the budget is charged; then, and only then, noise is drawn.

    release.py    `noisewise.release`: the request is checked, and handed to the file of its kind
    gram.py, moments.py, adassp.py, partition.py, microdata.py
                  one file per kind of release: its plan (what noise it would have) and the release itself
    one_formula.py  what releases for one regression ask first
    binary.py, bounds.py
                  two more things that spend: synthetic rows of a two-level column, and private bounds
    ledger.py     charges a budget before the noise, and returns the stored release where the same is asked again
    planning.py   how many parts a partition release should have
    audit*.py     claimed against measured epsilon, on made-up tables
    scratch.py, interrupts.py
                  folders for work in progress, and what Ctrl-C may leave behind: nothing
"""
