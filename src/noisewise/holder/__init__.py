"""The data holder's side: declarations and rows in, a release out. Where `data` and `privacy` meet, and nowhere else.

The order is the point, and it is the same for every kind. Everything that can be refused is refused first, from public
declarations alone; then the rows are read and summed; then the budget is charged; then, and only then, noise is drawn; then it
is recorded.

    release.py    `noisewise.release`: that order
    request.py    what was asked for, and its digest, by which a ledger knows a repetition
    plan.py       what a kind must say of itself: its mechanism and price, how its rows are read and its noise is drawn
    gram.py, moments.py, adassp.py, partition.py, rows.py, bounds.py, binary.py
                  the plan of each kind
    interrupts.py, scratch.py
                  what Ctrl-C may leave behind: nothing; and folders for work in progress
"""
