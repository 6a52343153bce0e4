"""How `fit` treats each kind of release: one file per kind, with a function ``fit(asked)`` that returns the result."""
