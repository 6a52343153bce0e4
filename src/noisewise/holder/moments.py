"""The data holder's side of a `moments` release: blocks of noisy sums for one response, in `noisewise.holder`'s order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.errors import DeclarationError
from noisewise.holder.ledger import released
from noisewise.holder.one_formula import basis_of_formula
from noisewise.privacy.ledger import BudgetLedger
from noisewise.privacy.moments import MomentsMechanism
from noisewise.privacy.sensitivity.moments import moments_sensitivity
from noisewise.progress import Tick
from noisewise.release.model import Release, today
from noisewise.release.moments import BlockSums, MomentsPart
from noisewise.schema import Basis, Numeric, Schema
from noisewise.schema.moment_blocks import MomentBlock, checked_blocks
from noisewise.version import __version__


def release_moments(
    data: Any,
    schema: Schema,
    *,
    formula: str | None,
    blocks: Mapping[str, float] | None,
    terms: str | None,
    epsilon: float,
    delta: float | None,
    mechanism: str | None,
    ledger: BudgetLedger | None,
    edition: str = "",
    threads: int | None,
    progress: Tick | bool | None,
) -> Release:
    """Release what logistic, probit or Poisson regressions of one response need: see `noisewise.release` with ``kind="moments"``.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "visits": {"bounds": [0, 10]}, "age": {"bounds": [18, 98]}}})
    >>> rows = {"visits": np.array([1.0, 0.0, 3.0]), "age": np.array([30.0, 55.0, 80.0])}
    >>> release_moments(rows, schema, formula="visits ~ age", blocks=None, terms=None, epsilon=1.0, delta=1e-6, mechanism=None,
    ...                 ledger=None, threads=None, progress=False)
    <Release moments: visits ~ age, 1 part, replace-one, (epsilon, delta) = (1.0, 1e-06)>
    """
    basis, formula = basis_of_formula("moments", schema, terms, formula, mechanism)
    check_response(basis)
    chosen = plan_moments(basis, epsilon, delta, blocks)
    blank = _blank(basis, terms, formula, chosen)

    def read() -> Callable[[], Release]:
        import noisewise.data as rows

        found = rows.moments_sum(data, schema, basis, list(chosen.sensitivity.weights), threads=threads, progress=progress)
        statistic = found.to_blocks()
        return lambda: _filled(blank, found.rows, chosen.perturb(statistic))

    return released(ledger, blank, chosen.cost(), edition, read)


def _filled(blank: Release, rows: int, noisy: Mapping[str, npt.NDArray[np.float64]]) -> Release:
    part = blank.parts[0]
    assert isinstance(part, MomentsPart)
    filled = replace(
        part,
        rows=rows if blank.schema.rows_are_public else None,
        blocks={name: replace(block, sums=noisy[name]) for name, block in part.blocks.items()},
    )
    return replace(blank, parts=(filled,))


def check_response(basis: Basis) -> None:
    """Refuse a response that no fit of moments could use, before anything is spent on it."""
    column = basis.schema.column(basis.columns[-1].factors[0].column)
    if isinstance(column, Numeric) and not (column.lower == 0 and float(column.upper).is_integer()):
        raise DeclarationError(
            "the response of a moments release is a column with two levels, or a count: with bounds from 0 to a whole number",
            found=f"'{column.name}' with bounds [{column.lower}, {column.upper}]",
            remedy="declare it so, or leave kind out for a release that serves linear regression as well",
        )


def plan_moments(
    basis: Basis, epsilon: float, delta: float | None, blocks: Mapping[str, float] | None = None
) -> MomentsMechanism:
    """The mechanism that a release would use; from public declarations alone, and it spends nothing.

    ``basis`` has the constant first and the response last, as `regression_columns` gives them.
    """
    schema, predictors = basis.schema, Basis(basis.schema, basis.columns[:-1])
    sensitivity = moments_sensitivity(
        weights=checked_blocks(blocks, rows_are_public=schema.rows_are_public, predictors=predictors.size - 1),
        scalars=predictors.scalars,
        groups=predictors.blocks,
        predictors=predictors.size - 1,
        norm_bound=predictors.radius if predictors.norm_clipped else None,
        adjacency=schema.adjacency,
        max_rows=schema.unit.max_rows,
        unit_is_row=schema.unit.is_row,
    )
    return MomentsMechanism.calibrate(sensitivity, epsilon, delta)


def _blank(basis: Basis, terms: str | None, formula: str, mechanism: MomentsMechanism) -> Release:
    """The release as it will be, with zeros for numbers, and proof that it can be written."""
    from noisewise.release.format import encode

    schema, predictors = basis.schema, mechanism.sensitivity.predictors
    weights, sds = mechanism.sensitivity.weights, mechanism.block_sds()
    part = MomentsPart(
        rows=0 if schema.rows_are_public else None,
        predictors=predictors,
        blocks={name: BlockSums(weights[name], sd, np.zeros(MomentBlock.named(name).size(predictors)))
                for name, sd in sds.items()},
        epsilon=mechanism.epsilon,
        delta=mechanism.delta,
        mechanism=mechanism.name,
        sensitivity=mechanism.sensitivity.norm,
        statement=mechanism.statement(schema.unit.column),
        created=today(),
        library=f"noisewise {__version__}",
    )
    blank = Release("moments", schema, terms, (part,), columns=basis.columns, formula=formula)
    encode(blank)
    return blank
