"""``noisewise release``: rows in, a release file out. Everything that can be refused is refused before the budget is spent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from noisewise.cli.blocks import Blocks, read_blocks, suggested_family
from noisewise.cli.files import check_batch_target, check_release_target
from noisewise.cli.guard import guarded
from noisewise.cli.ledger_of_release import Budget, next_batch, open_budget, refuse_batch_twice
from noisewise.cli.options import (
    AsJson,
    Data,
    Edition,
    Epsilon,
    Force,
    Kind,
    LedgerPlace,
    Mechanism,
    NoiseDelta,
    Quiet,
    SchemaFile,
    Traceback,
)
from noisewise.cli.query import QueryText, TrustQuery, open_rows
from noisewise.cli.questions import Ask, QuestionFile, read_prior, read_questions
from noisewise.cli.release_microdata import Copies, Shares, read_shares, refuse_other_options, tell_microdata
from noisewise.cli.release_options import (
    Append,
    Average,
    Formula,
    Output,
    PartPrior,
    Parts,
    Terms,
    Threads,
    TotalDelta,
    TotalEpsilon,
)
from noisewise.cli.release_partition import refuse_batches, room_for_questions, tell_partition
from noisewise.cli.release_words import tell_made, warn_about_delta
from noisewise.cli.talk import Talk
from noisewise.errors import ReleaseError, ReleaseWriteError
from noisewise_program import WORDS, why_stopped

if TYPE_CHECKING:
    from noisewise.release import Release
    from noisewise.release.single import SingleRelease
    from noisewise.schema import Schema

Kept = TypeVar("Kept")


@guarded(holder=True)
def release(
    context: typer.Context,
    data: Data,
    schema: SchemaFile,
    epsilon: Epsilon,
    delta: NoiseDelta = None,
    output: Output = None,
    append: Append = None,
    kind: Kind = "gram",
    formula: Formula = None,
    terms: Terms = None,
    mechanism: Mechanism = None,
    ledger: LedgerPlace = None,
    total_epsilon: TotalEpsilon = None,
    total_delta: TotalDelta = None,
    edition: Edition = "",
    query: QueryText = None,
    trust_query: TrustQuery = False,
    parts: Parts = None,
    ask: Ask = None,
    questions: QuestionFile = None,
    prior: PartPrior = None,
    block: Blocks = None,
    copies: Copies = None,
    share: Shares = None,
    average: Average = None,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Release a noisy summary of a table, once, for many analyses.

    Only the columns that the schema declares are read.
    The file may be given to anyone: its guarantee holds whatever they know and do.

    Example: noisewise release patients.parquet -s schema.toml --epsilon 1 --delta 1e-6 -o patients.nwr

    Rows that come in batches are released batch by batch, each once, and may then be erased:
    noisewise release may.parquet -s schema.toml -e 1 -d 1e-6 --append patients.nwr

    With --ledger the budget of the table is watched over: noisewise ledger open begins one.

    Where nobody knows bounds, questions about one regression are answered without any:
    noisewise release incomes.parquet -s schema.toml -e 1 -o age.nwr --kind partition --formula "income ~ age" --parts 100
    --ask "posterior-probability of=age at=0"
    """
    talk = Talk.of(context)
    import noisewise

    target = _target(output, append, force)
    declared = noisewise.Schema.load(schema)
    settings: dict[str, Any] = {"kind": kind, "terms": terms, "formula": formula, "blocks": read_blocks(block), "parts": parts,
                                "questions": read_questions(ask, questions), "prior": read_prior(prior), "average": average,
                                "copies": copies, "shares": read_shares(share)}
    _check_target(target, declared, append is not None, force, settings)
    budget = open_budget(talk, ledger, edition, total_epsilon, total_delta)
    edition = edition or ("" if append is None or budget is None else next_batch(target))
    if kind == "microdata":  # whose rows are written while they are made
        settings["output"] = target
    made = noisewise.release(
        open_rows(data, query, trust_query), declared, epsilon=epsilon, delta=delta, mechanism=mechanism, ledger=budget,
        edition=edition, threads=threads, progress=talk.progress, **settings)
    _keep_and_tell(talk, made, target, append is not None, delta, budget)
    if budget is not None:
        budget.tell(talk)


def _check_target(target: Path, declared: Schema, is_batch: bool, force: bool, settings: dict[str, Any]) -> None:
    """Refuse, before anything is spent, a file that the release could not be kept in."""
    kind = settings["kind"]
    if is_batch:
        refuse_batches(kind, target)
    if kind == "microdata":
        refuse_other_options(settings)
        room = 0
    elif kind == "partition":
        room = room_for_questions(settings["questions"])
    else:
        room = _room(declared, kind, settings["terms"], settings["formula"], settings["blocks"])
    if is_batch:
        check_batch_target(target, declared, settings["terms"], room=65_536 + room, kind=kind, formula=settings["formula"],
                           blocks=settings["blocks"])
    else:
        check_release_target(target, force=force, room=65_536 + room)


def _keep_and_tell(talk: Talk, made: Release | SingleRelease, target: Path, is_batch: bool, delta: float | None,
                   budget: Budget | None) -> None:
    from noisewise.release import MicrodataRelease, PartitionRelease, Release

    if isinstance(made, MicrodataRelease):
        tell_microdata(talk, made, target, budget is not None)
        return
    if not is_batch:
        _keep(made, target, lambda: made.save(target))
    if isinstance(made, PartitionRelease):
        tell_partition(talk, made, target, delta)
        return
    assert isinstance(made, Release)
    if is_batch:
        _add(talk, made, target, budget)
    else:
        _tell(talk, made, target)
    _tell_about_delta(talk, made, delta)


def _add(talk: Talk, made: Release, target: Path, budget: Budget | None) -> None:
    refuse_batch_twice(target, made, budget)
    _tell_batch(talk, made, _keep(made, target, lambda: add_to_file(target, made)), target)


def _room(declared: Schema, kind: str, terms: str | None, formula: str | None, blocks: dict[str, float] | None) -> int:
    """Bytes that the numbers of a release may need; what is wrong with its columns is refused here."""
    from noisewise.schema import Basis

    return 32 * Basis.of(declared, terms).size ** 2 + _room_for_blocks(declared, kind, terms, formula, blocks)


def _room_for_blocks(declared: Schema, kind: str, terms: str | None, formula: str | None, blocks: dict[str, float] | None) -> int:
    """Bytes that the sums of a moments release may need; what is wrong with them is refused here."""
    from noisewise.release.adassp import regression_columns
    from noisewise.release.moments import BYTES_OF_A_SUM
    from noisewise.schema.moment_blocks import checked_blocks, numbers_in

    if kind != "moments" or formula is None:
        return 0
    predictors = len(regression_columns(declared, terms, formula)) - 2
    names = checked_blocks(blocks, rows_are_public=declared.rows_are_public, predictors=predictors)
    return BYTES_OF_A_SUM * numbers_in(names, predictors)


def _target(output: Path | None, append: Path | None, force: bool) -> Path:
    """The one file that this release goes to."""
    target = output if append is None else append
    if target is None or (output is not None and append is not None):
        raise typer.BadParameter("give either --output, for a new file, or --append, for one that is there",
                                 param_hint="'--output' / '-o'")
    if append is not None and force:
        raise typer.BadParameter("--append replaces nothing, so it takes no --force", param_hint="'--force'")
    return target


def add_to_file(target: Path, made: Release) -> Release:
    """All that is in the file once this batch is added."""
    from noisewise.release.batches import append

    return append(target, made)


def _keep(made: Release | SingleRelease, target: Path, write: Callable[[], Kept]) -> Kept:
    """Write; if that fails, the release, whose budget is spent, is rescued to the folder for temporary files."""
    try:
        return write()
    except (Exception, KeyboardInterrupt) as error:  # whatever it is: the release must not be lost
        try:
            rescue = Path(tempfile.mkdtemp(prefix="noisewise-")) / (target.stem + ".nwr")
            made.save(rescue)
        except (OSError, ReleaseError):
            raise ReleaseWriteError(
                "the release could be written neither where it was wanted nor to the folder for temporary files: its budget is "
                "spent", found=_reason(error), remedy="with --ledger the ledger keeps it: make room, and ask for it again, which "
                "costs nothing; without one it is lost") from error
        raise ReleaseWriteError(
            "the release could not be written where it was wanted, but it is kept elsewhere: its budget is spent",
            found=_reason(error),
            remedy=f"move it to a safe place: {rescue}",
        ) from error


def _reason(error: BaseException) -> str:
    if isinstance(error, ReleaseError):
        return f"{error.rule}: {error.found}"
    return WORDS[why_stopped()] if isinstance(error, KeyboardInterrupt) else type(error).__name__


def _tell_batch(talk: Talk, made: Release, together: Release, target: Path) -> None:
    from shlex import quote

    tell_made(talk, f"Added a batch to {target}, which now holds {together.holders}", made)
    talk.explain("Each person must be in one batch only: for someone who is in several, their epsilons and deltas add up.")
    talk.explain("This batch is not needed again: its rows may be erased now.")
    talk.suggest(f"noisewise show {quote(str(target))}")
    talk.document({"file": target, **release_document(together)})


def _tell(talk: Talk, made: Release, output: Path) -> None:
    from shlex import quote

    tell_made(talk, f"Wrote {output}", made)
    talk.explain("This file may be given to anyone. Releasing the same rows again spends privacy again: the epsilons add up.")
    talk.explain("Anyone who has the file can now fit regressions to it, for example:" if made.formula is None else
                 "Anyone who has the file can now fit this regression:" if made.kind == "adassp" else
                 "Anyone who has the file can now fit this response to its predictors, or to some of them:")
    names = [name if name.isidentifier() else f"`{name}`" for name in made.schema.names]
    formula = made.formula or f"{names[0]} ~ {names[1] if len(names) > 1 else 1}"
    family = f" --family {suggested_family(made.schema, _response(made))}" if made.kind == "moments" else ""
    talk.suggest(f"noisewise fit {quote(str(output))} {quote(formula)}{family}")
    talk.document({"file": output, **release_document(made)})


def _response(made: Release) -> str:
    return made.columns[-1].factors[0].column


def _tell_about_delta(talk: Talk, made: Release, delta: float | None) -> None:
    if delta is None:
        talk.note(f"Note: no --delta was given, so the guarantee is pure epsilon.{_saving(made)}")
    else:
        warn_about_delta(talk, made.parts[0].delta, made.parts[0].rows)


def _saving(made: Release) -> str:
    """What a small delta would have saved, if anything: with few columns Laplace noise is the smaller one."""
    from noisewise.holder.gram import plan_gram

    part = made.parts[0]
    gaussian = plan_gram(made.basis, part.epsilon, 1e-6).entry_sd()[0]
    if gaussian >= part.noise.diagonal:
        return ""
    return f" With --delta 1e-6 the noise would have a standard deviation of {gaussian:.4g} instead of {part.noise.diagonal:.4g}."


def release_document(made: Release) -> dict[str, Any]:
    """A release for machines, without its numbers: those are in the file, which is JSON itself."""
    from noisewise.release import AdasspPart, MomentsPart

    return {
        "kind": made.kind,
        "format_version": made.version,
        "adjacency": made.adjacency,
        "unit": made.schema.unit.to_dict(),
        "terms": made.terms,
        **({} if made.formula is None else {"formula": made.formula}),
        "columns": list(made.basis.names[1:]),
        "parts": [
            {
                "rows": part.rows,
                **({"average": part.average, "groups": part.groups} if part.average > 1 else {}),
                "epsilon": part.epsilon,
                "delta": part.delta,
                "mechanism": part.mechanism,
                **({"blocks": {name: {"weight": block.weight, "noise_sd": block.noise} for name, block in part.blocks.items()}}
                   if isinstance(part, MomentsPart) else {}),
                "noise_sd": {
                    "diagonal": part.noise.diagonal,
                    "off_diagonal": part.noise.off_diagonal,
                    "rows": part.noise.corner,
                },
                **({} if part.noise.degrees is None else {"degrees_of_freedom": part.noise.degrees, "scale": part.noise.scale}),
                **({"smallest_eigenvalue": asdict(part.smallest_eigenvalue)} if isinstance(part, AdasspPart) else {}),
                "sensitivity": part.sensitivity,
                "statement": part.statement,
                "created": part.created,
                "library": part.library,
            }
            for part in made.parts
        ],
        "schema": made.schema.to_dict(),
    }
