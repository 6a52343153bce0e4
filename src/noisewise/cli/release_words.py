"""What ``noisewise release`` says whatever the kind of release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisewise.cli.talk import Talk

if TYPE_CHECKING:
    from noisewise.release import Release
    from noisewise.release.single import SingleRelease


def tell_made(talk: Talk, headline: str, made: Release | SingleRelease) -> None:
    """What was done, and the release in words."""
    if not talk.quiet:
        talk.line(headline, style="bold green")
        talk.text(made.describe())
        talk.explain()


def warn_about_delta(talk: Talk, delta: float, rows: int | None) -> None:
    """A delta above one over the number of rows allows to publish someone's row as it is."""
    if delta and rows and delta > 1 / rows:
        talk.warn(f"delta is larger than 1/{rows}, one over the number of rows: that is a weak promise to each of them",
                  ("remedy", "next time a smaller --delta, for example 1e-6"))
