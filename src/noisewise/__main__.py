"""``python -m noisewise`` is the same as ``noisewise``."""

from noisewise.cli.program import main

if __name__ == "__main__":
    main()
