"""All that is said about one release, or about those of several holders together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from noisewise.release.microdata import MicrodataRelease
from noisewise.release.model import GramPart, Release
from noisewise.release.partition import PartitionRelease
from noisewise.release.single import SingleRelease
from noisewise.report.claims import doubts
from noisewise.report.declared import UNKNOWN_TO_ALL, bound_notes, declared_table
from noisewise.report.given import ReleaseFile, Subject
from noisewise.report.guarantee import Guarantee, chances, protected, steps_of, together, unit_word
from noisewise.report.noise import noise_table, noise_words, part_names
from noisewise.report.numbers import at_most, count, exact, listed, number, plural, rough
from noisewise.report.tables import Table

MOST_STATEMENTS: Final = 6
LIMITS: Final = {
    "partition": "Each part's answer was clipped to the limits in the table of the released numbers. ",
}


@dataclass(frozen=True)
class ReleaseView:
    """One subject, ready for the template."""

    id: str
    name: str
    kind: str
    what: str
    use: str
    facts: tuple[tuple[str, str], ...]
    guarantees: tuple[Guarantee, ...]
    doubts: tuple[str, ...]
    """Whose stated noise is too small for the stated guarantee."""
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
    files: tuple[ReleaseFile, ...]


def release_view(subject: Subject, place: int) -> ReleaseView:
    release, holders = subject.release, subject.holders
    guarantees = _guarantees(release, holders)
    chance = max(one.chance for one in guarantees)
    statements = dict.fromkeys(one.statement for one in guarantees)
    return ReleaseView(
        id=f"release-{place}", name=subject.name, kind=release.kind, what=_what(release), use=_use(release),
        facts=tuple(_facts(subject, guarantees)), guarantees=tuple(guarantees),
        doubts=tuple(doubts(release, [one.holder for one in guarantees])),
        headline=guarantees[0].words if len(guarantees) == 1 else together(guarantees), unit=unit_word(release.schema),
        chances=tuple(chances(guarantees, release.schema)), bar=f"{100 * chance:.2f}", chance=at_most(chance),
        mechanism=_mechanism(release), protected=tuple(protected(release.schema, guarantees)),
        statements=tuple((_of(guarantees, statement), statement) for statement in list(statements)[:MOST_STATEMENTS]),
        budget=_budget(release, holders), declared=declared_table(release.schema, release), rules=tuple(_rules(release)),
        bound_notes=tuple(bound_notes(release)) if isinstance(release, Release) else (),
        noise=tuple(noise_words(release, holders)), noise_table=noise_table(release), files=tuple(subject.files),
    )


def _guarantees(release: Release | SingleRelease, holders: list[str]) -> list[Guarantee]:
    names = [holders[0]] if isinstance(release, SingleRelease) else part_names(release, holders)
    return [Guarantee(name, part.epsilon, part.delta, part.statement, steps_of(release.schema))
            for name, part in zip(names, _parts(release), strict=True)]


def _of(guarantees: list[Guarantee], statement: str) -> str:
    """Whose statement it is, if not everybody's."""
    names = [one.holder for one in guarantees if one.statement == statement]
    return "" if len(names) == len(guarantees) else listed(names, most=3)


def _what(release: Release | SingleRelease) -> str:
    if isinstance(release, PartitionRelease):
        return (f"Answers to {plural(len(release.questions), 'question')} about the regression {release.formula}, from "
                f"{count(release.parts)} random parts of the table (kind partition).")
    if isinstance(release, MicrodataRelease):
        copies = f" {count(release.copies)} times" if release.copies > 1 else ""
        return (f"Every row of the table{copies}, each cell with noise of its own (kind microdata). What looks like a row is not "
                "a person's data.")
    if not isinstance(release, Release):
        return f"A release of kind {release.kind}: {release.title()}."
    columns = plural(release.basis.size - 1, "column")
    if release.kind == "adassp":
        return f"Noisy sums for a point estimate of one regression, {release.formula} (kind adassp)."
    if release.kind == "moments":
        return (f"Noisy sums of {columns} for logistic, probit or Poisson regressions of one response: {release.formula} "
                "(kind moments).")
    return f"Noisy sums of squares and products of {columns} (kind {release.kind_in_file})."


def _use(release: Release | SingleRelease) -> str:
    """What can be done with it."""
    if release.kind != "gram":
        return ""
    return ("A linear, logistic or Poisson regression of any of its columns on any others can be fitted to it, as often as one "
            "likes, without spending more privacy.")


def _facts(subject: Subject, guarantees: list[Guarantee]) -> list[tuple[str, str]]:
    release = subject.release
    epsilons = sorted({one.epsilon for one in guarantees})
    deltas = sorted({one.delta for one in guarantees})
    found = [("Data holders", count(len(subject.holders))), ("Rows", _rows(release)),
             ("ε", _range(epsilons)), ("δ", _range(deltas))]
    days = sorted({part.created for part in _parts(release)})
    found.append(("Made", days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"))
    return found


def _range(values: list[float]) -> str:
    return exact(values[0]) if len(values) == 1 else f"{exact(values[0])} to {exact(values[-1])}"


def _parts(release: Release | SingleRelease) -> list[GramPart | SingleRelease]:
    return list(release.parts) if isinstance(release, Release) else [release]


def _rows(release: Release | SingleRelease) -> str:
    if isinstance(release, SingleRelease):
        return "not public" if release.rows is None else count(release.rows)
    if all(part.rows is not None for part in release.parts):
        return count(sum(part.rows or 0 for part in release.parts))
    noise = sum(part.noise.corner**2 for part in release.parts) ** 0.5
    return f"about {number(max(0.0, sum(float(part.matrix[0, 0]) for part in release.parts)), noise)} ± {rough(noise)}"


def _mechanism(release: Release | SingleRelease) -> str:
    names = list(dict.fromkeys(part.mechanism for part in _parts(release)))
    files, says = ("file", "says") if len(_parts(release)) == 1 else ("files", "say")
    return (f"Mechanism, as the {files} {says}: {listed(names)}. The rule is that noise is drawn from the operating system's "
            "random bytes, without a seed, so that nobody can draw it again; no file can prove that it was.")


def _budget(release: Release | SingleRelease, holders: list[str]) -> Table:
    headings = ["Data holder", "Rows", "ε", "δ", "Mechanism", "Made", "With"]
    rows: list[tuple[str, ...]] = []
    if isinstance(release, SingleRelease):
        rows.append((holders[0], _rows(release), exact(release.epsilon), exact(release.delta), release.mechanism, release.created,
                     release.library))
        return Table.of("What was spent", headings, rows, words=(0, 4, 5, 6))
    for name, part in zip(part_names(release, holders), release.parts, strict=True):
        noisy = f"{number(float(part.matrix[0, 0]), part.noise.corner)} ± {rough(part.noise.corner)}"
        rows.append((name, noisy if part.rows is None else count(part.rows), exact(part.epsilon), exact(part.delta),
                     part.mechanism, part.created, part.library, rough(part.noise.off_diagonal)))
    return Table.of("What was spent", [*headings, "Noise (sd)"], rows, words=(0, 4, 5, 6))


def _rules(release: Release | SingleRelease) -> list[str]:
    """What was done to rows, besides what the table of columns says."""
    found = []
    if isinstance(release, Release) and release.clipped_norm is not None:
        what = "predictors" if release.kind == "moments" else "columns"
        found.append(f"Every row was shortened, if need be, so that its scaled {what} have a norm of at most "
                     f"{number(release.clipped_norm)}.")
    unit = release.schema.unit
    if not unit.is_row:
        were = "was" if unit.max_rows == 1 else "were"
        found.append(f"Of every “{unit.column}” at most {plural(unit.max_rows, 'row')} {were} used.")
    if release.kind in LIMITS:
        found.append(LIMITS[release.kind])
    found.append(UNKNOWN_TO_ALL)
    return found
