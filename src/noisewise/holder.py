"""The data holder's side in one function: declarations and rows in, a release out.

The order is the point. Everything that can be refused is refused first, from public declarations alone; then the rows are read
and summed; then the budget is charged; then, and only then, noise is drawn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from noisewise.errors import DeclarationError, PrivacyError
from noisewise.privacy.ledger import BudgetLedger
from noisewise.privacy.mechanisms import SymmetricMechanism, choose_mechanism
from noisewise.privacy.sensitivity.gram import gram_sensitivity
from noisewise.progress import Tick
from noisewise.release.model import KINDS, Distribution, EntryNoise, GramPart, Release, today
from noisewise.schema import Basis, Schema
from noisewise.version import __version__


def release(
    data: Any,
    schema: Schema,
    *,
    kind: str = "gram",
    terms: str | None = None,
    epsilon: float,
    delta: float | None = None,
    mechanism: str | None = None,
    ledger: BudgetLedger | None = None,
    threads: int | None = None,
    progress: Tick | bool | None = None,
) -> Release:
    """Release a noisy summary of a table under differential privacy.

    ``data`` is a path (Parquet file, folder or glob; CSV), a pandas or polars DataFrame, an Arrow table or a dict of arrays. Only
    what ``schema`` declares is read. ``terms`` adds columns to the statistic, such as ``"age:ward + I(age**2)"``: an analyst can
    use only what was released. With ``delta`` the noise is Gaussian; without it, Laplace, for pure epsilon.

    >>> import numpy as np
    >>> schema = Schema.from_dict({"adjacency": "replace-one", "unit": "row",
    ...     "columns": {"stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}}})
    >>> rows = {"stay": np.array([3.0, 8.0, 21.0]), "age": np.array([30.0, 55.0, 80.0])}
    >>> release(rows, schema, epsilon=1.0, delta=1e-6)
    <Release gram: 2 columns, 1 part, replace-one, (epsilon, delta) = (1.0, 1e-06)>
    """
    if kind not in KINDS:
        raise DeclarationError("this kind of release is not known", found=repr(kind), remedy="known are " + ", ".join(KINDS))
    if not isinstance(schema, Schema):
        raise DeclarationError("a release needs a Schema", found=type(schema).__name__,
                               remedy="use Schema.load(path) or Schema.from_dict({...})")
    if ledger is not None and not callable(getattr(ledger, "charge", None)):
        raise PrivacyError("a ledger must be able to charge", found=type(ledger).__name__)
    terms = terms.strip() if isinstance(terms, str) else terms
    basis = Basis.of(schema, terms)
    chosen = plan(basis, epsilon, delta, mechanism)
    blank = _blank(schema, terms, basis, chosen)

    from noisewise.data import gram_sum

    statistic = gram_sum(data, schema, basis, threads=threads, progress=progress).to_grid()
    if ledger is not None:
        ledger.charge(epsilon=chosen.epsilon, delta=chosen.delta,
                      description=f"gram release of {', '.join(basis.names[1:])}")
    noisy = chosen.perturb(statistic)
    part = replace(blank.parts[0], matrix=noisy, rows=int(noisy[0, 0]) if schema.rows_are_public else None)
    return replace(blank, parts=(part,))


def _blank(schema: Schema, terms: str | None, basis: Basis, mechanism: SymmetricMechanism) -> Release:
    """The release as it will be, with zeros for numbers, and proof that it can be written.

    Whatever a release or its file would refuse is refused here: before a row is read, before the budget is charged.
    """
    from noisewise.release.format import encode

    part = GramPart(
        rows=0 if schema.rows_are_public else None,
        matrix=np.zeros((basis.size, basis.size)),
        noise=EntryNoise(cast(Distribution, mechanism.name), *mechanism.entry_sd()),
        epsilon=mechanism.epsilon,
        delta=mechanism.delta,
        mechanism=mechanism.name,
        sensitivity=_norm(mechanism),
        statement=mechanism.statement(schema.unit.column),
        created=today(),
        library=f"noisewise {__version__}",
    )
    blank = Release("gram", schema, terms, (part,))
    encode(blank)
    return blank


def plan(basis: Basis, epsilon: float, delta: float | None = None, mechanism: str | None = None) -> SymmetricMechanism:
    """The mechanism that a release would use, with its noise; from public declarations alone, and it spends nothing."""
    schema = basis.schema
    sensitivity = gram_sensitivity(
        scalars=basis.scalars,
        blocks=basis.blocks,
        size=basis.size,
        radius=basis.radius,
        norm_clipped=basis.norm_clipped,
        adjacency=schema.adjacency,
        max_rows=schema.unit.max_rows,
        unit_is_row=schema.unit.is_row,
    )
    return choose_mechanism(sensitivity, epsilon, delta, mechanism)


def _norm(mechanism: SymmetricMechanism) -> float:
    """The sensitivity in the norm that the mechanism's noise is calibrated to."""
    sensitivity = mechanism.sensitivity
    return sensitivity.l1 if mechanism.name == "laplace" else sensitivity.frobenius
