"""Hostile input, guided by coverage: every reader of outside input is given broken things to read.

    python -m fuzz                       # every target, 100,000 inputs each (make fuzz)
    python -m fuzz release --runs 1e6    # one target, more of it

A target takes bytes and may raise only the errors that its reader promises. Needs the extra ``fuzz`` (atheris).
"""

NAMES = ("release", "document", "published", "kind", "formula", "question", "schema", "rows", "posterior")
