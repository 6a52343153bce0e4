"""The data holder's side in one function: declarations and rows in, a release out.

The order is the point. Everything that can be refused is refused first, from public declarations alone; then the rows are read
and summed; then the budget is charged; then, and only then, noise is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from noisewise import __version__
from noisewise.errors import DeclarationError
from noisewise.privacy.ledger import BudgetLedger
from noisewise.privacy.mechanisms import SymmetricMechanism, choose_mechanism
from noisewise.privacy.sensitivity.gram import gram_sensitivity
from noisewise.release.model import KINDS, Distribution, EntryNoise, GramPart, Release, today
from noisewise.schema import Basis, Schema

if TYPE_CHECKING:
    from noisewise.data.progress import ProgressCallback


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
    progress: ProgressCallback | bool | None = None,
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
    basis = Basis.of(schema, terms)
    chosen = choose_mechanism(_sensitivity(basis), epsilon, delta, mechanism)

    from noisewise.data import gram_sum

    statistic = gram_sum(data, schema, basis, threads=threads, progress=progress).to_grid()
    if ledger is not None:
        ledger.charge(epsilon=chosen.epsilon, delta=chosen.delta, description=f"gram release of {', '.join(basis.names[1:])}")
    noisy = chosen.perturb(statistic)
    part = GramPart(
        rows=int(noisy[0, 0]) if schema.rows_are_public else None,
        matrix=noisy,
        noise=EntryNoise(cast(Distribution, chosen.name), *chosen.entry_sd()),
        epsilon=chosen.epsilon,
        delta=chosen.delta,
        mechanism=chosen.name,
        sensitivity=_norm(chosen),
        statement=chosen.statement(schema.unit.column),
        created=today(),
        library=f"noisewise {__version__}",
    )
    return Release(kind, schema, terms, (part,))


def _sensitivity(basis: Basis) -> Any:
    schema = basis.schema
    return gram_sensitivity(
        scalars=basis.scalars,
        blocks=basis.blocks,
        size=basis.size,
        radius=basis.radius,
        norm_clipped=basis.norm_clipped,
        adjacency=schema.adjacency,
        max_rows=schema.unit.max_rows,
        unit_is_row=schema.unit.is_row,
    )


def _norm(mechanism: SymmetricMechanism) -> float:
    """The sensitivity in the norm that the mechanism's noise is calibrated to."""
    sensitivity = mechanism.sensitivity
    return sensitivity.l1 if mechanism.name == "laplace" else sensitivity.frobenius
