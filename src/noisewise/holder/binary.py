"""The data holder's side of binary synthesis: one column with two levels in, synthetic rows of it out, in `noisewise.holder`'s
order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from noisewise.database_query import suited_to
from noisewise.errors import DeclarationError, PrivacyError
from noisewise.holder.ledger import check_edition, check_ledger, neighbours, once
from noisewise.privacy.ledger import BudgetLedger
from noisewise.privacy.mechanisms import BetaBinomial
from noisewise.progress import Tick
from noisewise.release.binary import MOST_COPIES, BinarySynthesis
from noisewise.release.model import today
from noisewise.schema import Basis, Categorical, Schema
from noisewise.version import __version__


def synthesize_binary(
    data: Any,
    schema: Schema,
    column: str,
    *,
    epsilon: float,
    rows: int,
    copies: int = 1,
    ledger: BudgetLedger | None = None,
    edition: str = "",
    threads: int | None = None,
    progress: Tick | bool | None = None,
) -> BinarySynthesis:
    """Synthetic rows of a column with two levels, under pure epsilon differential privacy (beta-binomial synthesis).

    ``rows`` is the number of synthetic rows of a copy; the more of them, the more they are drawn to one half. ``copies`` share
    ``epsilon``. A unit is a row. `fit_binary` says what the result tells about the real rows; a `release` tells more for the
    same epsilon.

    A ``ledger`` is charged before anything is drawn, and a repeated request returns the stored answer, as for `release`.

    >>> import numpy as np
    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"smoker": {"levels": ["no", "yes"]}}})
    >>> people = {"smoker": np.repeat(["no", "yes"], [700, 300])}
    >>> made = synthesize_binary(people, schema, "smoker", epsilon=1.0, rows=200, progress=False)
    >>> made.copies, made.alpha
    (1, 117)
    """
    check_ledger(ledger)
    check_edition(edition)
    alone = _one_column(schema, column)
    data = suited_to(data, alone)
    chosen = BetaBinomial.calibrate(alone.adjacency, epsilon, rows, copies)
    if copies > MOST_COPIES:
        raise PrivacyError(f"there are at most {MOST_COPIES} copies", found=str(copies))
    declared = alone.columns[0]
    assert isinstance(declared, Categorical)
    blank = BinarySynthesis(
        column=column, levels=(declared.levels[0], declared.levels[1]), rows=0 if alone.rows_are_public else None,
        synthetic_rows=rows, counts=(0,) * copies, alpha=chosen.alpha, epsilon=chosen.epsilon, adjacency=alone.adjacency,
        partition=dict(alone.partition), statement=chosen.statement(), created=today(), library=f"noisewise {__version__}",
    )

    def read() -> Callable[[], BinarySynthesis]:
        import noisewise.data as table
        from noisewise.schema.basis import STATISTIC_GRID

        found = table.gram_sum(data, alone, Basis.of(alone), threads=threads, progress=progress).to_grid()
        size, balance = (int(entry * STATISTIC_GRID) for entry in found[0])  # coded −1 and +1, so that both are whole
        ones = (size + balance) // 2
        return lambda: replace(blank, rows=size if alone.rows_are_public else None, counts=chosen.perturb(ones, size - ones))

    request = hashlib.sha256(json.dumps(_request(blank, alone, edition), sort_keys=True).encode()).hexdigest()
    words = f"synthetic rows of {column}" + (f", edition {edition}" if edition else "")
    return once(ledger, cost=chosen.cost(), description=words, request=request, partition=dict(alone.partition),
                neighbours=neighbours(alone), read=read, encode=BinarySynthesis.encode, decode=BinarySynthesis.decode)


def _one_column(schema: Schema, column: str) -> Schema:
    """What is declared about the column, without the others; refused if it has not two levels, or a person several rows."""
    if not isinstance(schema, Schema):
        raise DeclarationError("a synthesis needs a Schema", found=type(schema).__name__,
                               remedy="use Schema.load(path) or Schema.from_dict({...})")
    declared = schema.column(column)
    if not isinstance(declared, Categorical) or not declared.two_level:
        raise DeclarationError("binary rows are synthesised of a column with two levels", found=repr(column),
                               remedy='declare levels = ["no", "yes"], or use release and synthesize for other columns')
    if not schema.unit.is_row:
        raise PrivacyError("binary synthesis protects rows, and has no proof for people with several rows",
                           found=f"unit {schema.unit.to_dict()!r}", remedy="use release, which has one")
    return replace(schema, columns=(declared,), norm_bound=None)


def _request(blank: BinarySynthesis, schema: Schema, edition: str) -> dict[str, Any]:
    """All that the result depends on besides the rows."""
    derived = ("version", "rows", "counts", "statement", "created", "library")
    asked = {name: value for name, value in blank.document().items() if name not in derived}
    return {**asked, "copies": blank.copies, "schema": schema.to_dict(), "edition": edition}
