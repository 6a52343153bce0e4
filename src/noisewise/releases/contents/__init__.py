"""What the contributions of each kind contain: one file per kind, found by its stem, with the class as ``CONTRIBUTION``."""
