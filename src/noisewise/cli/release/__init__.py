"""``noisewise release``: rows in, a release file out. One file per kind, with its own options and texts.

    common    shared by all kinds: options, the order of the work, the ledger, messages
    gram, model, moments, partition, rows, bounds, binary, adassp
              `asked` turns the options of a kind into the kind, and its docstring is the help page. `tell` prints what the file
              is good for. `check`, if defined, refuses what the schema does not suit. `DELTA`, if defined, replaces the --delta
              option (None: no such option). `saving` says what a delta would save.
"""
