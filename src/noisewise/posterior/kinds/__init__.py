"""How `fit` treats a release of each kind: a file for each, with a function ``fit`` from what was asked to a result."""
