"""What a release guarantees, and the noise that makes it true.

`sensitivity` bounds how much one privacy unit can change a statistic (every bound has its proof beside it), `calibration` turns a
bound and (epsilon, delta) into a noise scale rounded towards privacy, `mechanisms` adds noise of that scale, `noise` draws it,
and `ledger` keeps the budget. No row is ever read here.
"""
