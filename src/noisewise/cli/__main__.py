"""``python -m noisewise.cli`` is the same as ``noisewise``."""

from noisewise.cli import main

if __name__ == "__main__":
    main()
