"""One file for each kind of release whose models can be weighed; `noisewise.selection.task` says what is in it."""
