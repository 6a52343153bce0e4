"""``noisewise fit``: ``command`` defines the command, ``results`` prints what it found."""
