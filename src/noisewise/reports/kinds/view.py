"""The parts of a report that depend on the kind of a release. These are the defaults, which kinds override."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from noisewise.kinds import Kind
from noisewise.kinds.registry import has_room, module_of
from noisewise.releases.release import Release
from noisewise.reports.declared import Moments
from noisewise.reports.numbers import Table, listed
from noisewise.results.comparison import Comparison
from noisewise.results.point_estimate import PointEstimate
from noisewise.results.posterior import Posterior

if TYPE_CHECKING:
    from noisewise.reports.kinds.partition import AnswersView

MOST_WORDS: Final = 4
REGRESSION: Final = ("The choice of the regression", "Its formula and the questions about it are published unchanged. If they "
                     "were chosen by looking at the rows, that choice is not protected.")


class KindView:
    """The words and tables of one kind. Every method has a default, so a kind need not define any."""

    heading: ClassVar[str] = "What anyone can do with the release, for example"
    """The heading of its example commands."""
    papers: ClassVar[tuple[str, ...]] = ()
    """The papers that it is based on."""
    results: ClassVar[tuple[type, ...]] = (Posterior,)
    """The types of results that can be fitted to it."""

    def what(self, release: Release) -> str:
        """What was released, in a sentence."""
        return f"A release of kind {release.kind.name}, {release.title()}: {release.kind.purpose}."

    def use(self, release: Release) -> str:
        """What can be done with it, in a sentence; empty if that is obvious."""
        return ""

    def noisy_rows(self, contribution: Any) -> tuple[float, float] | None:
        """The noisy number of rows and the standard deviation of its noise, for kinds that state both."""
        return None

    def noise_size(self, contribution: Any) -> float | None:
        """A single standard deviation that sums up how large the noise is, if there is one."""
        return None

    def listed_noise(self, contribution: Any) -> float | None:
        """The standard deviation of the noise that a list of files shows."""
        return self.noise_size(contribution)

    def noise_words(self, release: Release, holders: Sequence[str]) -> list[str]:
        """What noise was added to, and how much; ``holders`` has a name for each contribution."""
        whose: dict[str, list[str]] = {}
        for name, one in zip(holders, release.contributions, strict=True):
            whose.setdefault(self.words_of(release, one), []).append(name)
        found = [words if len(whose) == 1 else f"{listed(names, most=3)}: {words}"
                 for words, names in list(whose.items())[:MOST_WORDS]]
        return found + (["The budget table has the noise of all of them."] if len(whose) > MOST_WORDS else [])

    def words_of(self, release: Release, contribution: Any) -> str:
        """The noise of one contribution."""
        lines = contribution.lines(release.kind, release.schema)
        return " ".join(f"{label[:1].upper()}{label[1:]}: {text.removesuffix('.')}." for label, text in lines)

    def noise_table(self, release: Release) -> Table | None:
        """The noise, or what was released, in the units of the table."""
        return None

    def rules(self, release: Release) -> list[str]:
        """What was done to rows, besides what the table of columns says."""
        return []

    def moments(self, release: Release) -> Moments:
        """Means and mean squares of declared columns, as far as they were released."""
        return {}

    def not_protected(self, release: Release) -> list[tuple[str, str]]:
        """What the guarantee does not cover for this kind in particular: a heading and a sentence each."""
        return [] if release.formula is None else [REGRESSION]

    def accepts(self, result: Posterior | PointEstimate | Comparison) -> bool:
        """True if such a result can come from a release of this kind."""
        return isinstance(result, self.results)

    def papers_of(self, release: Release) -> tuple[str, ...]:
        """The papers behind it."""
        return self.papers

    def commands(self, release: Release) -> list[tuple[str, ...]]:
        """Example commands: the name of a command, and its words after the release files."""
        return [("show",)]

    def files(self, release: Release) -> Mapping[str, tuple[int, str]]:
        """Further files next to the release file: for each name, its size in bytes and its SHA-256 digest."""
        return {}

    def answers(self, release: Release, interval: float) -> AnswersView | None:
        """Answers to the questions asked when it was made, if there were any."""
        return None


def view_of(kind: Kind) -> KindView:
    """The view of this kind, or the defaults."""
    if not has_room(kind, "report"):
        return KindView()
    found: KindView = module_of(kind, "report").VIEW
    return found
