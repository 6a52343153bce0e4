"""``noisewise fit``: ``command`` is the command, ``results`` says what was found."""
