"""The section about one release, or about those of several holders together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from noisewise.errors import ReleaseError
from noisewise.releases.contribution import Contribution
from noisewise.releases.release import Release
from noisewise.reports.declared import bound_notes, declared_table
from noisewise.reports.given import Subject
from noisewise.reports.guarantee import Guarantee, chances, protected, steps_of, together, unit_word
from noisewise.reports.kinds.view import KindView, view_of
from noisewise.reports.numbers import Table, at_most, count, exact, listed, number, plural, rough

MOST_STATEMENTS, MOST_DOUBTS = 6, 6


class ReleaseView(NamedTuple):
    """One subject, ready for the template."""

    name: str
    what: str
    use: str
    facts: tuple[tuple[str, str], ...]
    doubts: tuple[str, ...]
    """The holders whose stated noise is too small for their guarantee."""
    headline: str
    unit: str
    chances: tuple[str, ...]
    bar: str
    """The largest chance of a right guess, in percent, for a drawing."""
    chance: str
    mechanism: str
    protected: tuple[str, ...]
    statements: tuple[tuple[str, str], ...]
    budget: Table
    declared: Table
    rules: tuple[str, ...]
    bound_notes: tuple[str, ...]
    noise: tuple[str, ...]
    noise_table: Table | None


def release_view(subject: Subject) -> ReleaseView:
    """The section about a subject. A kind without a view of its own gets the defaults."""
    release, view = subject.release, view_of(subject.release.kind)
    names = contribution_names(release, subject.holders)
    guarantees = [Guarantee(name, one.epsilon, one.delta, one.statement, steps_of(release.schema))
                  for name, one in zip(names, release.contributions, strict=True)]
    moments = view.moments(release)
    chance = max(one.chance for one in guarantees)
    statements = dict.fromkeys(one.statement for one in guarantees)
    return ReleaseView(
        name=subject.name, what=view.what(release), use=view.use(release),
        facts=tuple(_facts(subject, view)), doubts=tuple(doubts(release, names)),
        headline=guarantees[0].words if len(guarantees) == 1 else together(guarantees), unit=unit_word(release.schema),
        chances=tuple(chances(guarantees, release.schema)), bar=f"{100 * chance:.2f}", chance=at_most(chance),
        mechanism=_mechanism(release), protected=tuple(protected(release.schema, guarantees)),
        statements=tuple((_of(guarantees, statement), statement) for statement in list(statements)[:MOST_STATEMENTS]),
        budget=_budget(release, view, names), declared=declared_table(release.schema, moments),
        rules=tuple(_rules(release, view)), bound_notes=tuple(bound_notes(release.schema, moments)),
        noise=tuple(view.noise_words(release, names)), noise_table=view.noise_table(release),
    )


def doubts(release: Release, holders: Sequence[str]) -> list[str]:
    """List holders that state less noise than their guarantee needs; ``holders`` has a name for each contribution.

    A file that contradicts itself like this cannot be loaded, but a release built in memory may. An empty list proves nothing: a
    release does not show how its noise was drawn.
    """
    found = []
    for name, one in zip(holders, release.contributions, strict=True):
        try:
            one.check_promise()
        except ReleaseError as error:
            found.append(f"{name}: {error.rule}" + (f": {error.found}." if error.found else "."))
    more = len(found) - MOST_DOUBTS
    return found if more <= 0 else [*found[:MOST_DOUBTS], f"The same is true of {plural(more, 'more data holder')}."]


def contribution_names(release: Release, holders: list[str]) -> list[str]:
    """The names of holders, or of sums if holders were added up while they were read."""
    if len(holders) == len(release.contributions):
        return holders
    return [f"sum {place} of {plural(one.holders, 'holder')}" for place, one in enumerate(release.contributions, start=1)]


def _of(guarantees: list[Guarantee], statement: str) -> str:
    """The holders who make a statement, empty if all do."""
    names = [one.holder for one in guarantees if one.statement == statement]
    return "" if len(names) == len(guarantees) else listed(names, most=3)


def _facts(subject: Subject, view: KindView) -> list[tuple[str, str]]:
    release = subject.release
    epsilons, deltas, days = (sorted(set(found)) for found in zip(*(
        (one.epsilon, one.delta, one.created) for one in release.contributions), strict=True))
    return [("Data holders", count(len(subject.holders))), ("Rows", _rows(release, view)),
            ("ε", _range(list(map(exact, epsilons)))), ("δ", _range(list(map(exact, deltas)))), ("Made", _range(days))]


def _range(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _rows(release: Release, view: KindView) -> str:
    if all(one.rows is not None for one in release.contributions):
        return count(sum(one.rows for one in release.contributions))
    noisy = [view.noisy_rows(one) for one in release.contributions]
    known = [one for one in noisy if one is not None]
    if len(known) < len(noisy):
        return "not public"
    noise = sum(sd**2 for _, sd in known) ** 0.5
    return f"about {number(max(0.0, sum(value for value, _ in known)), noise)} ± {rough(noise)}"


def _own_rows(contribution: Contribution, view: KindView) -> str:
    if contribution.rows is not None:
        return count(contribution.rows)
    noisy = view.noisy_rows(contribution)
    return "not public" if noisy is None else f"{number(*noisy)} ± {rough(noisy[1])}"


def _mechanism(release: Release) -> str:
    names = list(dict.fromkeys(one.mechanism for one in release.contributions))
    files, state = ("file", "states") if len(release.contributions) == 1 else ("files", "state")
    return (f"Mechanism, as the {files} {state}: {listed(names)}. Noise must be drawn from the operating system's random bytes, "
            "without a seed, so that nobody can draw it again. No file can prove that it was.")


def _budget(release: Release, view: KindView, names: list[str]) -> Table:
    headings = ["Data holder", "Rows", "ε", "δ", "Mechanism", "Made", "Made with"]
    rows: list[tuple[str, ...]]
    rows = [(name, _own_rows(one, view), exact(one.epsilon), exact(one.delta), one.mechanism, one.created, one.library)
            for name, one in zip(names, release.contributions, strict=True)]
    sizes = [rough(size) for one in release.contributions if (size := view.noise_size(one)) is not None]
    if len(sizes) == len(rows):
        headings, rows = [*headings, "Noise (sd)"], [(*row, size) for row, size in zip(rows, sizes, strict=True)]
    return Table.of("What was spent", headings, rows, words=(0, 4, 5, 6))


def _rules(release: Release, view: KindView) -> list[str]:
    """What was done to rows, besides what the table of columns says."""
    found = view.rules(release)
    unit = release.schema.unit
    if not unit.is_row:
        were = "was" if unit.max_rows == 1 else "were"
        found.append(f"At most {plural(unit.max_rows, 'row')} of each “{unit.column}” {were} used.")
    return found
