"""``noisewise release --kind partition``: what is particular to it, and what is said when it is made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from noisewise.cli.release_words import tell_made, warn_about_delta
from noisewise.cli.talk import Talk
from noisewise.errors import ReleaseError

if TYPE_CHECKING:
    from noisewise.release.partition import PartitionRelease
    from noisewise.schema.questions import Question

BYTES_OF_A_NUMBER: Final = 1024


def refuse_batches(kind: str, append: Path) -> None:
    if kind == "microdata":
        raise ReleaseError("rows are published in a file of their own, to which no batch is added", found=f"--append {append}",
                           remedy="write them to another file, with --output; nothing was released")
    if kind == "partition":
        raise ReleaseError("a release of kind partition is not added to a file: each has its own random parts",
                           found=f"--append {append}",
                           remedy="write it to a file of its own, with --output; nothing was released")


def room_for_questions(asked: Sequence[Question] | None) -> int:
    """Bytes that the questions and their numbers may need."""
    return BYTES_OF_A_NUMBER * sum(len(question.numbers()) + len(str(question)) // 100 for question in asked or ())


def tell_partition(talk: Talk, made: PartitionRelease, output: Path, delta: float | None) -> None:
    """What was made, what may be done with it, and what a delta would change."""
    from shlex import quote

    tell_made(talk, f"Wrote {output}", made)
    talk.explain("This file may be given to anyone. Asking something else of the same rows spends privacy again: the epsilons "
                 "add up. Several questions in one release are cheaper.")
    talk.explain("Anyone who has the file can now read its answers" + (", and test the hypotheses they are about:"
                                                                       if _testable(made) else ":"))
    talk.suggest(f"noisewise answer {quote(str(output))}",
                 *([f"noisewise test {quote(str(output))}"] if _testable(made) else []))
    _tell_about_parts(talk, made)
    _tell_about_delta(talk, made, delta)
    talk.document({"file": output, **made.document()})


def _testable(made: PartitionRelease) -> bool:
    return any(question.ask != "posterior-quantile" for question in made.questions)


def _tell_about_parts(talk: Talk, made: PartitionRelease) -> None:
    from noisewise.schema.partition import part_design

    coefficients = len(part_design(made.schema, made.formula, ()).terms)
    if made.part_rows is not None and made.part_rows < 30 + coefficients:
        talk.warn(f"a part has about {made.part_rows:.0f} rows for {coefficients} coefficients: answers and tests are rough with "
                  "fewer than about 30 rows and one for each coefficient",
                  ("remedy", "next time fewer --parts; `noisewise plan partition` suggests how many"))


def _tell_about_delta(talk: Talk, made: PartitionRelease, delta: float | None) -> None:
    if delta is None:
        talk.note(f"Note: no --delta was given, so the guarantee is pure epsilon.{_saving(made)}")
    else:
        warn_about_delta(talk, made.delta, made.rows)


def _saving(made: PartitionRelease) -> str:
    """What a small delta would have saved, if anything: that takes many numbers."""
    from noisewise.answers.noise import MeanNoise
    from noisewise.holder.partition import plan_partition

    gaussian = plan_partition(made.schema, made.questions, made.epsilon, 1e-6).scale
    pure = MeanNoise(made.mechanism, made.noise, len(made.numbers)).sd
    if gaussian >= pure:
        return " With so few numbers that has less noise than a small delta would give."
    return f" With --delta 1e-6 the noise on a sum would have a standard deviation of {gaussian:.4g} instead of {pure:.4g}."
