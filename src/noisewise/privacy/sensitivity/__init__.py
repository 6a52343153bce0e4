"""How much one privacy unit can change a statistic. One module per kind of release, each with its proofs beside it."""
