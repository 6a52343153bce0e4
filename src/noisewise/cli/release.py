"""``noisewise release``: rows in, a release file out. Everything that can be refused is refused before the budget is spent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from noisewise.cli.blocks import Blocks, read_blocks, suggested_family
from noisewise.cli.files import check_batch_target, check_release_target
from noisewise.cli.guard import guarded
from noisewise.cli.ledger_of_release import Budget, next_batch, open_budget, refuse_batch_twice
from noisewise.cli.options import TABLE, AsJson, Force, Quiet, Traceback
from noisewise.cli.query import QueryText, TrustQuery, open_rows
from noisewise.cli.questions import Ask, QuestionFile, read_prior, read_questions
from noisewise.cli.release_microdata import Copies, Shares, read_shares, release_rows
from noisewise.cli.release_partition import refuse_batches, room_for_questions, tell_partition
from noisewise.cli.talk import Talk
from noisewise.errors import ReleaseError, ReleaseWriteError

if TYPE_CHECKING:
    from noisewise.release import Release
    from noisewise.release.single import SingleRelease
    from noisewise.schema import Schema

Kept = TypeVar("Kept")


@guarded(holder=True)
def release(
    context: typer.Context,
    data: Annotated[str, typer.Argument(metavar="DATA", help=TABLE, show_default=False)],
    schema: Annotated[Path, typer.Option("--schema", "-s", help="The public declarations (TOML).", show_default=False)],
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="How much privacy may be spent, for example 1.",
                                           show_default=False)],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The release file to write, for example patients.nwr.",
                                                show_default=False)] = None,
    append: Annotated[Path | None, typer.Option("--append", help="Instead of --output: a release file to add this batch to. "
                                                "Schema and terms must be those of the file, its people others.",
                                                show_default=False)] = None,
    query: QueryText = None,
    trust_query: TrustQuery = False,
    delta: Annotated[float | None, typer.Option("--delta", "-d", help="With it Gaussian noise, for example 1e-6; without it "
                                                "Laplace noise and pure epsilon.", show_default=False)] = None,
    mechanism: Annotated[str | None, typer.Option(help="gaussian, laplace, wishart or wishart-paper; by default as --delta says. "
                                                  "`noisewise plan gram` compares them.",
                                                  show_default=False)] = None,
    terms: Annotated[str | None, typer.Option(help="More columns for analysts to use, for example \"age:ward + I(age**2)\".",
                                              show_default=False)] = None,
    kind: Annotated[str, typer.Option(help="gram serves every formula; moments logistic, probit and Poisson regressions of the "
                                      "response of --formula; adassp only --formula, by a point estimate; partition answers "
                                      "questions about --formula and needs no bounds; microdata publishes rows, with far more "
                                      "noise.")] = "gram",
    formula: Annotated[str | None, typer.Option(help="With --kind moments, adassp or partition: response and predictors, for "
                                                "example \"stay ~ age + ward\".", show_default=False)] = None,
    block: Blocks = None,
    parts: Annotated[int | None, typer.Option(help="With kind partition: into how many random parts the table is split. "
                                              "`noisewise plan partition` suggests it.", show_default=False)] = None,
    ask: Ask = None,
    questions: QuestionFile = None,
    prior: Annotated[str | None, typer.Option(help="With kind partition: of the coefficients in each part. flat (default), "
                                              "\"zellner g=10000\", \"normal-inverse-gamma scale=1 shape=1 rate=1\".",
                                              show_default=False)] = None,
    copies: Copies = None,
    share: Shares = None,
    average: Annotated[int | None, typer.Option(help="Average the rows in random groups of so many, for methods that need nearly "
                                                "normal predictors. It costs precision; the default method does not need it.",
                                                min=1, show_default=False)] = None,
    ledger: Annotated[str | None, typer.Option(help="The budget ledger of this table: it is charged first, and answers a "
                                               "repeated request with the stored release.", show_default=False)] = None,
    total_epsilon: Annotated[float | None, typer.Option(help="With --ledger: begin it, if it is not there, with this total.",
                                                        show_default=False)] = None,
    total_delta: Annotated[float | None, typer.Option(help="With --total-epsilon: the total delta.", show_default=False)] = None,
    edition: Annotated[str, typer.Option(help="With --ledger: says that the rows are others than last time, for example 2026-05. "
                                         "With --append it is the number of the batch.", show_default=False)] = "",
    threads: Annotated[int | None, typer.Option(help="At most so many; by default one per processor.", min=1,
                                                show_default=False)] = None,
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
    from noisewise.release.partition import PartitionRelease

    target = _target(output, append, force)
    refuse_batches(kind, append)
    declared = noisewise.Schema.load(schema)
    blocks, asked, chosen_prior = read_blocks(block), read_questions(ask, questions), read_prior(prior)
    if kind == "microdata":
        if append is not None:
            raise typer.BadParameter("rows are published in a file of their own: give --output", param_hint="'--append'")
        for name, value in (("terms", terms), ("formula", formula), ("block", blocks), ("average", average), ("parts", parts),
                            ("ask", asked), ("prior", prior)):
            if value is not None:
                raise typer.BadParameter("it is no option of kind microdata", param_hint=f"'--{name}'")
        check_release_target(target, force=force, room=65_536)
        budget = open_budget(ledger, total_epsilon, total_delta, edition)
        rows = open_rows(data, query, trust_query, declared)
        release_rows(talk, rows, declared, target, epsilon=epsilon, delta=delta, mechanism=mechanism, copies=copies,
                     shares=read_shares(share), ledger=budget, edition=edition, threads=threads)
        if budget is not None:
            budget.tell(talk)
        return
    room = 65_536 + (room_for_questions(asked) if kind == "partition" else _room(declared, kind, terms, formula, blocks))
    if append is None:
        check_release_target(target, force=force, room=room)
    else:
        check_batch_target(target, declared, terms, room=room, kind=kind, formula=formula, blocks=blocks)
    budget = open_budget(ledger, total_epsilon, total_delta, edition)
    edition = edition or ("" if append is None or budget is None else next_batch(target))
    settings: dict[str, Any] = {"kind": kind, "terms": terms, "formula": formula, "blocks": blocks, "parts": parts,
                                "questions": asked, "prior": chosen_prior, "average": average, "copies": copies,
                                "shares": read_shares(share)}
    made: Release | PartitionRelease = noisewise.release(
        open_rows(data, query, trust_query, declared), declared, epsilon=epsilon, delta=delta, mechanism=mechanism, ledger=budget,
        edition=edition, threads=threads, progress=talk.progress, **settings)
    if append is None:
        _keep(made, target, lambda: made.save(target))
    if isinstance(made, PartitionRelease):
        tell_partition(talk, made, target, delta)
    else:
        if append is None:
            _tell(talk, made, target)
        else:
            _add(talk, made, target, budget)
        _tell_about_delta(talk, made, delta)
    if budget is not None:
        budget.tell(talk)


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
        rescue = Path(tempfile.mkdtemp(prefix="noisewise-")) / (target.stem + ".nwr")
        made.save(rescue)
        raise ReleaseWriteError(
            "the release could not be written where it was wanted, but it is kept elsewhere: its budget is spent",
            found=_reason(error),
            remedy=f"move it to a safe place: {rescue}",
        ) from error


def _reason(error: BaseException) -> str:
    if isinstance(error, ReleaseError):
        return f"{error.rule}: {error.found}"
    return "stopped by Ctrl-C" if isinstance(error, KeyboardInterrupt) else type(error).__name__


def _tell_batch(talk: Talk, made: Release, together: Release, target: Path) -> None:
    from shlex import quote

    if not talk.quiet:
        talk.line(f"Added a batch to {target}, which now holds {together.holders}", style="bold green")
        talk.line(made.describe())
        talk.explain()
        talk.explain("Each person must be in one batch only: for someone who is in several, their epsilons and deltas add up.")
        talk.explain("This batch is not needed again: its rows may be erased now.")
        talk.suggest(f"noisewise show {quote(str(target))}")
    talk.document({"file": target, **release_document(together)})


def _tell(talk: Talk, made: Release, output: Path) -> None:
    from shlex import quote

    if not talk.quiet:
        talk.line(f"Wrote {output}", style="bold green")
        talk.line(made.describe())
        talk.explain()
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
    rows = made.parts[0].rows
    if delta is None:
        talk.note(f"Note: no --delta was given, so the guarantee is pure epsilon.{_saving(made)}")
    elif rows and made.parts[0].delta > 1 / rows:
        talk.warn(f"delta is larger than 1/{rows}, one over the number of rows: that is a weak promise to each of them")


def _saving(made: Release) -> str:
    """What a small delta would have saved, if anything: with few columns Laplace noise is the smaller one."""
    from noisewise.holder import plan

    part = made.parts[0]
    gaussian = plan(made.basis, part.epsilon, 1e-6).entry_sd()[0]
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
