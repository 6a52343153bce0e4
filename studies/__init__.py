"""Calibration studies and reproductions of published tables; each is a program, ``python -m studies.<name> --help``.

Nothing in ``src`` imports this. Noise here is simulated with a seed and protects nobody: it is for made-up or public tables only.
"""
