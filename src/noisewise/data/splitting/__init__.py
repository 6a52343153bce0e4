"""Which rows belong together: random orders and groups, random parts, and the rows of one privacy unit. No value decides it."""
