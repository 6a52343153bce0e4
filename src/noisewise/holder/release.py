"""`noisewise.release`: the request is checked, and handed to the file of its kind."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Final, Literal, TypeAlias, overload

from noisewise.database_query import suited_to
from noisewise.errors import DeclarationError, PrivacyError
from noisewise.holder.gram import release_gram
from noisewise.holder.ledger import check_ledger
from noisewise.privacy.ledger import BudgetLedger
from noisewise.progress import Tick
from noisewise.release.microdata import MicrodataRelease
from noisewise.release.model import KINDS, Release
from noisewise.release.partition import PartitionRelease
from noisewise.release.single import SingleRelease
from noisewise.schema import Schema
from noisewise.schema.partition import PartPrior
from noisewise.schema.questions import Question

SINGLE_KINDS: Final = ("partition", "microdata")
"""Kinds of release that are no matrices."""
LARGEST_DELTA: Final = 0.01
"""A slip of the keyboard is refused; below it, what is small depends on the table, and is the holder's to judge."""
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
    _check_delta(delta)
    data = suited_to(data, schema)
    terms = terms.strip() if isinstance(terms, str) else terms
    if average is not None and kind != "gram":
        raise DeclarationError("rows are averaged in releases of kind gram only", found=repr(kind), remedy="leave average out")
    if blocks is not None and kind != "moments":
        raise DeclarationError("blocks are those of a release of kind moments", found=repr(kind), remedy="leave blocks out")
    if kind == "microdata":
        from noisewise.holder.microdata import release_microdata

        _refuse_other_options(kind, terms=terms, formula=formula, parts=parts, questions=questions, prior=prior)
        return release_microdata(data, schema, epsilon=epsilon, delta=delta, mechanism=mechanism, copies=copies, shares=shares,
                                 output=output, ledger=ledger, edition=edition, threads=threads, progress=progress)
    _refuse_other_options(kind, copies=copies, shares=shares, output=output)
    if kind == "partition":
        from noisewise.holder.partition import release_partition

        _refuse_other_options(kind, terms=terms)
        return release_partition(data, schema, formula=formula, questions=questions, parts=parts, prior=prior, epsilon=epsilon,
                                 delta=delta, mechanism=mechanism, ledger=ledger, edition=edition, progress=progress)
    _refuse_other_options(kind, parts=parts, questions=questions, prior=prior)
    if kind == "moments":
        from noisewise.holder.moments import release_moments

        return release_moments(data, schema, formula=formula, blocks=blocks, terms=terms, epsilon=epsilon, delta=delta,
                               mechanism=mechanism, ledger=ledger, edition=edition, threads=threads, progress=progress)
    if kind == "adassp":
        from noisewise.holder.adassp import release_adassp

        return release_adassp(data, schema, formula=formula, terms=terms, epsilon=epsilon, delta=delta, mechanism=mechanism,
                              ledger=ledger, edition=edition, threads=threads, progress=progress)
    if formula is not None:
        raise DeclarationError(f"a release of kind {kind} serves every formula, so none is given", found=repr(formula),
                               remedy='leave formula out, or give kind="adassp" or kind="moments"')
    return release_gram(data, schema, terms=terms, epsilon=epsilon, delta=delta, mechanism=mechanism, average=average,
                        ledger=ledger, edition=edition, threads=threads, progress=progress)


def _check_delta(delta: object) -> None:
    """With a probability of delta nothing is promised. What else delta must be is for the mechanisms to say."""
    if isinstance(delta, Real) and LARGEST_DELTA < delta < 1:  # type: ignore[operator]
        raise PrivacyError(f"the delta of a release is at most {LARGEST_DELTA:g}: one that publishes every row, as it is, in "
                           f"{float(delta):.3g} of all cases would satisfy this one", found=f"delta = {delta!r}",
                           remedy="give a delta well below one over the number of rows, for example 1e-6")


def _refuse_other_options(kind: str, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            only = f": it belongs to kind {OPTIONS_OF[name]}" if name in OPTIONS_OF else ""
            raise DeclarationError(f"{name} is no option of a release of kind {kind}{only}", found=repr(value)[:80],
                                   remedy=f"leave {name} out" + ("; save(path) writes the release" if name == "output" else ""))
