"""`noisewise.release`: refuse, read, charge, draw, record, in this order for every kind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from noisewise.database_query import suited_to
from noisewise.errors import PrivacyError
from noisewise.holder.interrupts import finished_first
from noisewise.holder.plan import Mechanism, Plan, plan_of
from noisewise.holder.request import Request, check_request
from noisewise.kinds import Gram, Kind
from noisewise.privacy.ledger import BudgetLedger
from noisewise.releases.release import Release
from noisewise.run import DEFAULT, Run
from noisewise.schema import Schema

KEPT: Final = "the ledger keeps the release; request it again at no cost"
GRAM: Final = Gram()


def release(
    data: object,
    schema: Schema,
    kind: Kind = GRAM,
    *,
    epsilon: float,
    delta: float | None = None,
    ledger: BudgetLedger | None = None,
    edition: str = "",
    to: str | os.PathLike[str] | None = None,
    run: Run = DEFAULT,
) -> Release:
    """Release a noisy summary of a table under differential privacy.

    Args:
        data: A path (Parquet file, folder or glob; CSV), a DataFrame (pandas, polars or Spark), ``"spark:TABLE"``, a database
            `query`, an Arrow table or a dict of arrays. Only columns that ``schema`` declares are read.
        schema: The public declarations: columns with bounds or levels, what counts as a neighbouring table, the unit.
        kind: What to release, with its options. `Gram` (the default) serves any regression on the released columns; `Moments`
            serves logistic and Poisson regressions of one response; `Partition` answers questions and needs no bounds; `Rows`
            publishes noisy rows; `Bounds` estimates bounds; `Binary` makes yes-or-no rows; `AdaSSP` serves a point estimate.
        epsilon: The privacy budget of this release.
        delta: With a delta the noise is Gaussian; without one the guarantee is pure epsilon.
        ledger: A ledger (`Ledger.open`). Its budget is charged before any noise is drawn; a release it cannot cover is refused.
            Requesting the same release again returns the stored one at no cost.
        edition: A name for this state of the table. Change it when the rows have changed.
        to: A file to write the release to.
        run: Threads and progress.

    >>> import numpy as np
    >>> schema = Schema.from_dict({"adjacency": "replace-one", "unit": "row",
    ...     "columns": {"stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}}})
    >>> rows = {"stay": np.array([3.0, 8.0, 21.0]), "age": np.array([30.0, 55.0, 80.0])}
    >>> release(rows, schema, epsilon=1.0, delta=1e-6)
    <Release gram: 2 columns, replace-one, (epsilon, delta) = (1.0, 1e-06)>
    """
    check_request(kind, schema, delta, edition)
    check_ledger(ledger)
    data = suited_to(data, schema)
    plan = plan_of(kind, schema, epsilon, delta)
    target = plan.check_target(to)
    if ledger is None:
        return plan.keep(plan.filled(plan.read(data, target, run)()), target)
    return _charged(ledger, Request(plan.kind, schema, plan.epsilon, plan.delta, edition), plan, data, target, run)


def _charged(ledger: BudgetLedger, request: Request, plan: Plan[Mechanism], data: object, to: Path | None, run: Run) -> Release:
    """Make a release, or return the one made earlier for the same request.

    Ctrl-C while reading costs nothing. Once the budget is charged, Ctrl-C waits for the record; requesting the release again
    returns what was recorded.
    """
    from noisewise.releases.format import decode, encode

    digest = request.digest()
    before = ledger.earlier(digest)
    if before is not None:
        return plan.found_again(decode(before), to)
    draw = plan.read(data, to, run)
    with finished_first(KEPT):
        entry = ledger.charge(plan.cost(), description=request.describe(), request=digest, stratum=dict(request.schema.stratum),
                              neighbours=request.neighbours())
        before = ledger.earlier(digest)  # another process may have made it while we read the rows; if so, nothing was charged
        if before is None:
            made = plan.filled(draw())
            ledger.complete(entry, encode(made))
    return plan.keep(made, to) if before is None else plan.found_again(decode(before), to)


def check_ledger(ledger: object) -> None:
    """Refuse anything that is not a ledger before any row is read."""
    if ledger is not None and not all(callable(getattr(ledger, name, None)) for name in ("earlier", "charge", "complete")):
        raise PrivacyError("a ledger must have the methods earlier, charge and complete",
                           found=type(ledger).__name__, remedy="use noisewise.Ledger.open(path, epsilon=..., delta=...)")
