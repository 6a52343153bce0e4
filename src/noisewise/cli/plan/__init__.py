"""``noisewise plan``: noise, prices and power before anything is spent, one file per command. No row is read here."""
