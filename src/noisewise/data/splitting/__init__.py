"""Which rows belong together: random orders and groups, random parts, and the rows of a privacy unit. Never depends on values."""
