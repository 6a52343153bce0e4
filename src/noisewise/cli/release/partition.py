"""``noisewise release partition``: answers to questions about one regression, without bounds."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from noisewise.cli.options import Ask, Formula, PartitionDelta, PartitionMechanism, PartPrior, Parts
from noisewise.cli.output import Output
from noisewise.cli.questions import read_prior, read_questions
from noisewise.kinds import Partition
from noisewise.releases.release import Release

DELTA = PartitionDelta


def asked(formula: Formula, parts: Parts, ask: Ask, prior: PartPrior = None, mechanism: PartitionMechanism = None) -> Partition:
    """Answer questions about one regression without knowing bounds of its columns.

    Splits the table into random parts, answers in each part, and releases the average of the answers with noise.
    Declare columns that have no known bounds with bounds = "unknown".

    Example: noisewise release partition incomes.parquet -s schema.toml -e 1 -o age.nwr --formula "income ~ age" --parts 100
    --ask "posterior-probability of=age at=0"
    """
    return Partition(formula, parts=parts, ask=read_questions(ask), prior=read_prior(prior), mechanism=mechanism)


def tell(out: Output, made: Release, target: Path) -> None:
    """Print what can be done with the file."""
    testable = any(question.ask != "posterior-quantile" for question in _kind(made).ask)
    out.explain("This file may be given to anyone. Further questions about the same rows cost privacy again: the epsilons add "
                "up. Several questions in one release are cheaper.")
    out.explain("Anyone who has the file can now read its answers" + (" and test its hypotheses:" if testable else ":"))
    out.suggest(f"noisewise answer {quote(str(target))}",
                *([f"noisewise hypothesis-test {quote(str(target))}"] if testable else []))
    _tell_about_parts(out, made)


def _kind(made: Release) -> Partition:
    assert isinstance(made.kind, Partition)
    return made.kind


def _tell_about_parts(out: Output, made: Release) -> None:
    coefficients, rows = len(_kind(made).design(made.schema).terms), made.contents.rows
    if rows is not None and rows / _kind(made).parts < 30 + coefficients:
        out.warn(f"a part has about {rows / _kind(made).parts:.0f} rows for {coefficients} coefficients: answers and tests are "
                 "rough with fewer than about 30 rows plus one per coefficient",
                 ("remedy", "next time, use fewer --parts; `noisewise plan partition` suggests a number"))


def saving(made: Release) -> str:
    """Say what a small delta would save, if anything: only with many numbers."""
    from noisewise.answers.asked import MeanNoise
    from noisewise.holder.partition import plan_partition

    one = made.contents
    gaussian = plan_partition(made.schema, _kind(made).ask, one.epsilon, 1e-6).scale
    pure = MeanNoise(one.mechanism, one.noise, len(one.numbers)).sd
    if gaussian >= pure:
        return " With this few numbers, the noise is smaller than with a small delta."
    return f" With --delta 1e-6 the noise on a sum would have a standard deviation of {gaussian:.4g} instead of {pure:.4g}."
