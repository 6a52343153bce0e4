"""``noisewise release``: rows in, a release file out. One file per kind, with its own options and its own words.

    common    what is the same for every kind: its options, the order of the work, the ledger, what is said
    gram, moments, partition, rows, bounds, binary, adassp
              `asked` turns the options of a kind into the kind, and its docstring is the help page; `tell` says what may be done
              with the file; `DELTA` is the option of that name, where it is another one or None, and `saving` says what it saves
"""
