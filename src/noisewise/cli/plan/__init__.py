"""``noisewise plan``: noise, cost and power before any budget is spent, one file per command. Reads no rows."""
