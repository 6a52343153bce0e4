"""The data holder's side of a `gram` release: one noisy matrix of sums of products, for every regression on its columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from noisewise.errors import PrivacyError
from noisewise.holder.ledger import released
from noisewise.privacy.ledger import BudgetLedger
from noisewise.privacy.mechanisms import SymmetricMechanism, SymmetricWishart, choose_mechanism
from noisewise.privacy.sensitivity.averaged import averaged_sensitivity, check_group
from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity
from noisewise.progress import Tick
from noisewise.release.model import Distribution, EntryNoise, GramPart, Release, today
from noisewise.schema import Basis, Schema
from noisewise.version import __version__


def release_gram(
    data: Any,
    schema: Schema,
    *,
    terms: str | None,
    epsilon: float,
    delta: float | None,
    mechanism: str | None,
    average: int | None,
    ledger: BudgetLedger | None,
    edition: str = "",
    threads: int | None,
    progress: Tick | bool | None,
) -> Release:
    """Release what every regression on the columns needs: see `noisewise.release`."""
    basis = Basis.of(schema, terms)
    chosen = plan_gram(basis, epsilon, delta, mechanism, average)
    blank = blank_gram(schema, terms, basis, chosen, average or 1)

    def read() -> Callable[[], Release]:
        perturb = _noisy_statistic(data, basis, chosen, average or 1, threads, progress)
        return lambda: _filled(blank, perturb())

    return released(ledger, blank, chosen.cost(), edition, read)


def _filled(blank: Release, noisy: npt.NDArray[np.float64]) -> Release:
    rows = int(noisy[0, 0]) if blank.schema.rows_are_public else None
    return replace(blank, parts=(replace(blank.parts[0], matrix=noisy, rows=rows),))


def _noisy_statistic(
    data: Any, basis: Basis, mechanism: SymmetricMechanism, average: int, threads: int | None, progress: Tick | bool | None
) -> Callable[[], npt.NDArray[np.float64]]:
    """Read the rows. What is returned draws the noise: to be called once, after the budget was charged."""
    import noisewise.data as rows
    from noisewise.data.exact import PRODUCT_BITS

    if average > 1:
        grouped = rows.averaged_gram_sum(data, basis.schema, basis, average, threads=threads, progress=progress)
        assert not isinstance(mechanism, SymmetricWishart)
        return partial(mechanism.perturb, grouped.to_grid())
    found = rows.gram_sum(data, basis.schema, basis, threads=threads, progress=progress)
    if isinstance(mechanism, SymmetricWishart):  # it needs the sum itself, before the grid
        return partial(mechanism.perturb, found.total, 2.0**-PRODUCT_BITS)
    return partial(mechanism.perturb, found.to_grid())


def blank_gram(schema: Schema, terms: str | None, basis: Basis, mechanism: SymmetricMechanism, average: int = 1) -> Release:
    """The release as it will be, with zeros for numbers, and proof that it can be written.

    Whatever a release or its file would refuse is refused here: before a row is read, before the budget is charged.
    """
    from noisewise.release.format import encode

    part = GramPart(
        rows=0 if schema.rows_are_public else None,
        matrix=np.zeros((basis.size, basis.size)),
        noise=_noise(mechanism),
        epsilon=mechanism.epsilon,
        delta=mechanism.delta,
        mechanism=mechanism.name,
        sensitivity=_norm(mechanism),
        statement=mechanism.statement(schema.unit.column),
        created=today(),
        library=f"noisewise {__version__}",
        average=average,
    )
    blank = Release("gram", schema, terms, (part,))
    encode(blank)
    return blank


def _noise(mechanism: SymmetricMechanism) -> EntryNoise:
    """The noise as the release states it."""
    if isinstance(mechanism, SymmetricWishart):
        return EntryNoise("wishart", *mechanism.entry_sd(), degrees=mechanism.degrees, scale=mechanism.scale)
    return EntryNoise(cast(Distribution, mechanism.distribution), *mechanism.entry_sd())


def plan_gram(
    basis: Basis, epsilon: float, delta: float | None = None, mechanism: str | None = None, average: int | None = None
) -> SymmetricMechanism:
    """The mechanism that a release would use, with its noise; from public declarations alone, and it spends nothing."""
    schema = basis.schema
    if average is not None and (average is True or average != 1):
        check_group(average)
        _check_averaging(schema, delta, mechanism)
        return choose_mechanism(_averaged_sensitivity(basis, average), epsilon, delta, mechanism)
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


def _check_averaging(schema: Schema, delta: float | None, mechanism: str | None) -> None:
    """What has no proof is refused: see averaged.md beside the sensitivity."""
    if not schema.rows_are_public:
        raise PrivacyError(
            "rows can be averaged only under replace-one with a row as the unit: only that has a proven sensitivity",
            found=f"adjacency {schema.adjacency}, unit {schema.unit.to_dict()!r}",
            remedy="leave average out; the default method of fit does not need averaged rows",
        )
    if delta is None or mechanism not in (None, "gaussian"):
        raise PrivacyError(
            "rows can be averaged only with Gaussian noise: only that has a proven sensitivity",
            found=f"delta={delta!r}, mechanism={mechanism!r}",
            remedy="leave mechanism out and give a delta well below one over the number of rows, for example 1e-6, or leave "
            "average out",
        )


def _averaged_sensitivity(basis: Basis, average: int) -> GramSensitivity:
    blocks = {column.block for column in basis.columns if column.block is not None}
    return averaged_sensitivity(
        group=average,
        scalars=basis.scalars,
        blocks=basis.blocks,
        size=basis.size,
        radius=basis.radius,
        norm_clipped=basis.norm_clipped,
        indicators=sum(1 for _, numbers in blocks if not numbers),  # products of indicators alone are 0 or 1
    )


def _norm(mechanism: SymmetricMechanism) -> float:
    """The sensitivity in the norm that the mechanism's noise is calibrated to."""
    sensitivity = mechanism.sensitivity
    return {"laplace": sensitivity.l1, "wishart": sensitivity.spectral}.get(mechanism.distribution, sensitivity.frobenius)
