"""The data holder's side in one function: declarations and rows in, a release out.

The order is the point. Everything that can be refused is refused first, from public declarations alone; then the rows are read
and summed; then the budget is charged; then, and only then, noise is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal, TypeAlias, cast, overload

import numpy as np
import numpy.typing as npt

from noisewise.errors import DeclarationError, PrivacyError
from noisewise.holder_ledger import check_ledger, released
from noisewise.holder_query import suited_to
from noisewise.privacy.ledger import BudgetLedger
from noisewise.privacy.mechanisms import SymmetricMechanism, SymmetricWishart, choose_mechanism
from noisewise.privacy.sensitivity.averaged import averaged_sensitivity, check_group
from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity
from noisewise.progress import Tick
from noisewise.release.microdata import MicrodataRelease
from noisewise.release.model import KINDS, Distribution, EntryNoise, GramPart, Release, today
from noisewise.release.partition import PartitionRelease
from noisewise.release.single import SingleRelease
from noisewise.schema import Basis, Schema
from noisewise.schema.partition import PartPrior
from noisewise.schema.questions import Question
from noisewise.version import __version__

SINGLE_KINDS: Final = ("partition", "microdata")
"""Kinds of release that are no matrices."""
OPTIONS_OF: Final[Mapping[str, str]] = {
    "copies": "microdata", "shares": "microdata", "output": "microdata",
    "parts": "partition", "questions": "partition", "prior": "partition",
}
Questions: TypeAlias = Sequence[Question | Mapping[str, Any]] | Question | Mapping[str, Any] | None


@overload
def release(
    data: Any,
    schema: Schema,
    *,
    kind: Literal["partition"],
    formula: str,
    parts: int,
    questions: Questions,
    prior: PartPrior | Mapping[str, Any] | str | None = ...,
    epsilon: float,
    delta: float | None = ...,
    mechanism: str | None = ...,
    ledger: BudgetLedger | None = ...,
    edition: str = ...,
    progress: Tick | bool | None = ...,
) -> PartitionRelease: ...


@overload
def release(
    data: Any,
    schema: Schema,
    *,
    kind: Literal["microdata"],
    copies: int | None = ...,
    shares: Mapping[str, float] | None = ...,
    output: str | os.PathLike[str] | None,
    epsilon: float,
    delta: float | None = ...,
    mechanism: str | None = ...,
    ledger: BudgetLedger | None = ...,
    edition: str = ...,
    threads: int | None = ...,
    progress: Tick | bool | None = ...,
) -> MicrodataRelease: ...


@overload
def release(
    data: Any,
    schema: Schema,
    *,
    kind: str = ...,
    terms: str | None = ...,
    formula: str | None = ...,
    blocks: Mapping[str, float] | None = ...,
    epsilon: float,
    delta: float | None = ...,
    mechanism: str | None = ...,
    average: int | None = ...,
    ledger: BudgetLedger | None = ...,
    edition: str = ...,
    threads: int | None = ...,
    progress: Tick | bool | None = ...,
) -> Release: ...


def release(
    data: Any,
    schema: Schema,
    *,
    kind: str = "gram",
    terms: str | None = None,
    formula: str | None = None,
    blocks: Mapping[str, float] | None = None,
    epsilon: float,
    delta: float | None = None,
    mechanism: str | None = None,
    average: int | None = None,
    copies: int | None = None,
    shares: Mapping[str, float] | None = None,
    output: str | os.PathLike[str] | None = None,
    parts: int | None = None,
    questions: Questions = None,
    prior: PartPrior | Mapping[str, Any] | str | None = None,
    ledger: BudgetLedger | None = None,
    edition: str = "",
    threads: int | None = None,
    progress: Tick | bool | None = None,
) -> Release | SingleRelease:
    """Release a noisy summary of a table under differential privacy.

    ``data`` is a path (Parquet file, folder or glob; CSV), a DataFrame (pandas, polars or Spark), ``"spark:TABLE"``, a `query` of
    a database, an Arrow table or a dict of arrays. Only
    what ``schema`` declares is read. ``terms`` adds columns to the statistic, such as ``"age:ward + I(age**2)"``: an analyst can
    use only what was released. With ``delta`` the noise is Gaussian; without it, Laplace, for pure epsilon. ``mechanism`` names
    another one: ``"laplace"``, ``"wishart"``, or ``"wishart-paper"`` with the degrees of freedom of the literature.

    ``kind="gram"`` (default) serves any regression on the released columns. ``kind="adassp"`` serves one, whose ``formula`` is
    given here (``"stay ~ age + ward"``), and only by a point estimate; it needs a ``delta``. ``kind="moments"`` serves logistic,
    probit and Poisson regressions of the response of its ``formula`` on any of its predictors, often a little more precisely
    than ``gram``; it needs a ``delta``. ``blocks`` weighs its sums, ``{"x": 1, "xx": 1, "y": 0.7, "yx": 1.5}`` by default: a
    block with four times the weight has half the noise.

    ``kind="partition"`` needs no bounds of any column (declare ``bounds = "unknown"``): the table is split at random into
    ``parts``, the regression of ``formula`` is fitted in each with a ``prior`` (flat by default), and the parts' answers to
    ``questions`` are averaged with noise; `noisewise.answer` and `noisewise.test` read the result. `noisewise plan partition`
    suggests how many parts.

    ``average=k`` averages the rows in random groups of k first (with a ``delta``, under replace-one, where a row is a unit): for
    methods that need nearly normal predictors. It costs information and noise.

    ``kind="microdata"`` publishes every row with noise in each cell, to ``output`` (``"patients.nwr"``) and to a Parquet file
    beside it: far less precise than the others at the same epsilon. ``copies`` of each row share the budget, and ``shares`` says
    how the columns divide it, ``{"age": 2}``: twice the share of any other column. It returns a `MicrodataRelease`.

    With a ``ledger`` (`Ledger.open`) the budget of the table is charged before any noise is drawn, and what it does not cover is
    refused. Asking for the same release again returns the stored one and costs nothing; give another ``edition`` when the rows
    have changed.

    >>> import numpy as np
    >>> schema = Schema.from_dict({"adjacency": "replace-one", "unit": "row",
    ...     "columns": {"stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}}})
    >>> rows = {"stay": np.array([3.0, 8.0, 21.0]), "age": np.array([30.0, 55.0, 80.0])}
    >>> release(rows, schema, epsilon=1.0, delta=1e-6)
    <Release gram: 2 columns, 1 part, replace-one, (epsilon, delta) = (1.0, 1e-06)>
    """
    if kind not in (*KINDS, *SINGLE_KINDS):
        raise DeclarationError("this kind of release is not known", found=repr(kind),
                               remedy="known are " + ", ".join((*KINDS, *SINGLE_KINDS)))
    if not isinstance(schema, Schema):
        raise DeclarationError("a release needs a Schema", found=type(schema).__name__,
                               remedy="use Schema.load(path) or Schema.from_dict({...})")
    check_ledger(ledger)
    data = suited_to(data, schema)
    terms = terms.strip() if isinstance(terms, str) else terms
    if average is not None and kind != "gram":
        raise DeclarationError("rows are averaged in releases of kind gram only", found=repr(kind), remedy="leave average out")
    if blocks is not None and kind != "moments":
        raise DeclarationError("blocks are those of a release of kind moments", found=repr(kind), remedy="leave blocks out")
    if kind == "microdata":
        from noisewise.holder_microdata import release_microdata

        _refuse_other_options(kind, terms=terms, formula=formula, parts=parts, questions=questions, prior=prior)
        return release_microdata(data, schema, epsilon=epsilon, delta=delta, mechanism=mechanism, copies=copies, shares=shares,
                                 output=output, ledger=ledger, edition=edition, threads=threads, progress=progress)
    _refuse_other_options(kind, copies=copies, shares=shares, output=output)
    if kind == "partition":
        from noisewise.holder_partition import release_partition

        _refuse_other_options(kind, terms=terms)
        return release_partition(data, schema, formula=formula, questions=questions, parts=parts, prior=prior, epsilon=epsilon,
                                 delta=delta, mechanism=mechanism, ledger=ledger, edition=edition, progress=progress)
    _refuse_other_options(kind, parts=parts, questions=questions, prior=prior)
    if kind == "moments":
        from noisewise.holder_moments import release_moments

        return release_moments(data, schema, formula=formula, blocks=blocks, terms=terms, epsilon=epsilon, delta=delta,
                               mechanism=mechanism, ledger=ledger, edition=edition, threads=threads, progress=progress)
    if kind == "adassp":
        from noisewise.holder_adassp import release_adassp

        return release_adassp(data, schema, formula=formula, terms=terms, epsilon=epsilon, delta=delta, mechanism=mechanism,
                              ledger=ledger, edition=edition, threads=threads, progress=progress)
    if formula is not None:
        raise DeclarationError(f"a release of kind {kind} serves every formula, so none is given", found=repr(formula),
                               remedy='leave formula out, or give kind="adassp" or kind="moments"')
    basis = Basis.of(schema, terms)
    chosen = plan(basis, epsilon, delta, mechanism, average)
    blank = _blank(schema, terms, basis, chosen, average or 1)

    def read() -> Callable[[], Release]:
        perturb = _noisy_statistic(data, basis, chosen, average or 1, threads, progress)
        return lambda: _filled(blank, perturb())

    return released(ledger, blank, chosen.cost(), edition, read)


def _refuse_other_options(kind: str, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            only = f": it belongs to kind {OPTIONS_OF[name]}" if name in OPTIONS_OF else ""
            raise DeclarationError(f"{name} is no option of a release of kind {kind}{only}", found=repr(value)[:80],
                                   remedy=f"leave {name} out" + ("; save(path) writes the release" if name == "output" else ""))


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


def _blank(schema: Schema, terms: str | None, basis: Basis, mechanism: SymmetricMechanism, average: int = 1) -> Release:
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


def plan(
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
