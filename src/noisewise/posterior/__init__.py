"""From releases to posterior draws; nothing here can reach confidential rows.

One file per likelihood. What they share: ``coordinates`` (working units), ``prior``, ``fit`` (wires them together), and the
pure algorithms in ``kernels``.
"""
