"""``noisewise release``, or ``noisewise release gram``: one noisy matrix for all regressions on its columns."""

from __future__ import annotations

from pathlib import Path

from noisewise.cli.options import Average, Mechanism, Terms
from noisewise.cli.output import Output
from noisewise.cli.release.common import tell_fit
from noisewise.kinds import Gram
from noisewise.releases.release import Release


def asked(terms: Terms = None, mechanism: Mechanism = None, average: Average = None) -> Gram:
    """Release a noisy summary of a table, once, for many analyses.

    Reads only the columns that the schema declares.
    The file may be given to anyone: its guarantee holds whatever they know or do.

    Example: noisewise release patients.parquet -s schema.toml --epsilon 1 --delta 1e-6 -o patients.nwr

    If rows arrive in batches, release each batch once; its rows may then be erased:
    noisewise release may.parquet -s schema.toml -e 1 -d 1e-6 --append patients.nwr

    With --ledger, the table's budget is enforced. Start a ledger with noisewise ledger open.

    For other kinds of release, name the kind before the table: noisewise release partition --help
    """
    return Gram(terms=terms, mechanism=mechanism, average=average)


def tell(out: Output, made: Release, target: Path) -> None:
    """Print what can be done with the file."""
    names = [name if name.isidentifier() else f"`{name}`" for name in made.schema.names]
    tell_fit(out, target, "regressions to it, for example", f"{names[0]} ~ {names[1] if len(names) > 1 else 1}")


def saving(made: Release) -> str:
    """Say what a small delta would save, if anything: with few columns, Laplace noise is smaller."""
    from noisewise.holder.gram import plan_gram

    one = made.contents
    gaussian = plan_gram(made.basis, one.epsilon, 1e-6).entry_sd()[0]
    if gaussian >= one.noise.diagonal:
        return ""
    return f" With --delta 1e-6 the noise would have a standard deviation of {gaussian:.4g} instead of {one.noise.diagonal:.4g}."
