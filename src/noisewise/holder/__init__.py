"""The data holder's side: takes declarations and rows, returns a release. The only room where `data` and `privacy` meet.

Every kind follows the same order. First, refuse whatever can be refused from public declarations alone; then read and sum the
rows; then charge the budget; only then draw noise; then record the release. Rounds of a `Model` release are read after the
charge, because each depends on the noise of the one before.

    release.py    `noisewise.release`, which follows that order
    request.py    a request and its digest, by which a ledger recognises a repeated request
    plan.py       what each kind must define: its mechanism, its cost, how to read its rows and draw its noise
    gram.py, model.py, moments.py, adassp.py, partition.py, rows.py, bounds.py, binary.py
                  the plan of each kind
    interrupts.py, scratch.py
                  handle Ctrl-C without leaving anything behind; folders for unfinished files
"""
