"""The data holder's side of an `adassp` release: noisy sums for one regression, in the order that `noisewise.holder` keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from noisewise.errors import DeclarationError
from noisewise.holder.ledger import released
from noisewise.holder.one_formula import basis_of_formula
from noisewise.privacy.adassp import AdasspMechanism, NoisySums
from noisewise.privacy.ledger import BudgetLedger
from noisewise.privacy.sensitivity.adassp import adassp_sensitivity
from noisewise.privacy.smallest_eigenvalue import LARGEST_SIZE
from noisewise.progress import Tick
from noisewise.release.adassp import AdasspPart, SmallestEigenvalue
from noisewise.release.model import EntryNoise, Release, today
from noisewise.schema import Basis, Schema
from noisewise.version import __version__


def release_adassp(
    data: Any,
    schema: Schema,
    *,
    formula: str | None,
    terms: str | None,
    epsilon: float,
    delta: float | None,
    mechanism: str | None,
    ledger: BudgetLedger | None,
    edition: str = "",
    threads: int | None,
    progress: Tick | bool | None,
) -> Release:
    """Release what one regression needs, and nothing else: see `noisewise.release` with ``kind="adassp"``.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}}})
    >>> rows = {"stay": np.array([3.0, 8.0, 21.0]), "age": np.array([30.0, 55.0, 80.0])}
    >>> release_adassp(rows, schema, formula="stay ~ age", terms=None, epsilon=1.0, delta=1e-6, mechanism=None, ledger=None,
    ...                threads=None, progress=False)
    <Release adassp: stay ~ age, 1 part, replace-one, (epsilon, delta) = (1.0, 1e-06)>
    """
    basis, formula = basis_of_formula("adassp", schema, terms, formula, mechanism)
    chosen = plan_adassp(basis, epsilon, delta)
    blank = _blank(basis, terms, formula, chosen)

    def read() -> Callable[[], Release]:
        from noisewise.data import gram_sum

        statistic = gram_sum(data, schema, basis, threads=threads, progress=progress).to_grid()
        smallest = chosen.smallest_eigenvalue(statistic)
        return lambda: _filled(blank, chosen, chosen.perturb(statistic, smallest))

    return released(ledger, blank, chosen.cost(), edition, read)


def _filled(blank: Release, mechanism: AdasspMechanism, noisy: NoisySums) -> Release:
    part = blank.parts[0]
    assert isinstance(part, AdasspPart)
    filled = replace(
        part,
        rows=int(noisy.matrix[0, 0]) if blank.schema.rows_are_public else None,
        matrix=noisy.matrix,
        moments=noisy.moments,
        smallest_eigenvalue=_eigenvalue(mechanism, noisy.eigenvalue),
    )
    return replace(blank, parts=(filled,))


def plan_adassp(basis: Basis, epsilon: float, delta: float | None) -> AdasspMechanism:
    """The mechanism that a release would use; from public declarations alone, and it spends nothing.

    ``basis`` has the constant first and the response last, as `regression_columns` gives them.
    """
    schema = basis.schema
    if basis.size - 1 > LARGEST_SIZE:
        raise DeclarationError(f"an adassp release has at most {LARGEST_SIZE} columns of predictors, the constant included",
                               found=str(basis.size - 1), remedy="use a shorter formula, or a release of kind gram")
    sensitivity = adassp_sensitivity(
        scalars=basis.scalars - 1,  # without the response
        blocks=basis.blocks,
        predictors=basis.size - 1,
        norm_bound=basis.radius if basis.norm_clipped else None,
        adjacency=schema.adjacency,
        max_rows=schema.unit.max_rows,
        unit_is_row=schema.unit.is_row,
    )
    return AdasspMechanism.calibrate(sensitivity, epsilon, delta)


def _blank(basis: Basis, terms: str | None, formula: str, mechanism: AdasspMechanism) -> Release:
    """The release as it will be, with zeros for numbers, and proof that it can be written."""
    from noisewise.release.format import encode

    schema, size = basis.schema, basis.size - 1
    part = AdasspPart(
        rows=0 if schema.rows_are_public else None,
        matrix=np.zeros((size, size)),
        moments=np.zeros(size),
        smallest_eigenvalue=_eigenvalue(mechanism, 0.0),
        noise=EntryNoise("gaussian", *mechanism.sums.entry_sd()),
        epsilon=mechanism.epsilon,
        delta=mechanism.delta,
        mechanism=mechanism.name,
        sensitivity=mechanism.sums.sensitivity.frobenius,
        statement=mechanism.statement(schema.unit.column),
        created=today(),
        library=f"noisewise {__version__}",
    )
    blank = Release("adassp", schema, terms, (part,), columns=basis.columns, formula=formula)
    encode(blank)
    return blank


def _eigenvalue(mechanism: AdasspMechanism, value: float) -> SmallestEigenvalue:
    piece = mechanism.eigenvalue
    return SmallestEigenvalue(value, piece.sd, piece.epsilon, piece.delta, piece.sensitivity.frobenius)
