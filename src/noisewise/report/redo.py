"""How to cite what a report shows, and how to do it again: exact commands, digests and versions."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Final

from noisewise.release.microdata import MicrodataRelease
from noisewise.release.model import Release
from noisewise.report import papers
from noisewise.report.given import Fitted, ReleaseFile, Subject
from noisewise.report.numbers import count
from noisewise.report.tables import Table
from noisewise.results.model_comparison import AVERAGED, Comparison
from noisewise.results.point_estimate import PointEstimate
from noisewise.results.posterior import INDEPENDENT, Posterior
from noisewise.schema.columns import Numeric
from noisewise.version import __version__

AUTHORS: Final = "The noisewise developers"
TITLE: Final = "noisewise: differentially private Bayesian regression"
DEFAULT_METHOD: Final = "conditional"
PACKAGES: Final = ("numpy", "scipy", "jax", "blackjax")
MOST_FILES: Final = 8
LINE: Final = 60


@dataclass(frozen=True)
class Redo:
    """What it takes to cite and to repeat."""

    citation: str
    bibtex: str
    papers: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    files: Table
    versions: tuple[tuple[str, str], ...]


def redo(subjects: Sequence[Subject], output: str, title: str | None, interval: float) -> Redo:
    return Redo(
        citation=f"{AUTHORS}. {TITLE}. Version {__version__}.",
        bibtex=f"@software{{noisewise,\n  author = {{{{{AUTHORS}}}}},\n  title = {{{TITLE}}},\n  version = {{{__version__}}}\n}}",
        papers=tuple(_papers(subjects)), commands=tuple(_commands(subjects, output, title, interval)),
        notes=tuple(_notes(subjects)),
        files=_files(subjects), versions=tuple(_versions()),
    )


def _papers(subjects: Sequence[Subject]) -> list[str]:
    found: dict[str, None] = {}
    for subject in subjects:
        release = subject.release
        _add(found, papers.OF_KINDS.get(release.kind, ()))
        if isinstance(release, Release):
            for part in release.parts:
                _add(found, papers.OF_NOISE.get(part.noise.distribution, ()))
        for fitted in subject.results:
            info = fitted.result.info
            _add(found, papers.OF_METHODS.get(info.method, ()) if info.family == "gaussian" else papers.OF_OTHER_FAMILIES)
            if isinstance(fitted.result, Posterior) and info.method not in INDEPENDENT:
                _add(found, (papers.VEHTARI,))
    return sorted(found)


def _add(found: dict[str, None], more: Iterable[str]) -> None:
    found.update(dict.fromkeys(more))


def _commands(subjects: Sequence[Subject], output: str, title: str | None, interval: float) -> Iterable[tuple[str, str]]:
    releases, saved = [], []
    for subject in subjects:
        names = [_path(file) for file in subject.files]
        releases += names
        for number_, fitted in enumerate(subject.results, start=1):
            name = fitted.file or f"fit-{number_}.npz"
            files = _shown(names) if fitted.whole else [_path(fitted.alone)] if fitted.alone else ["RELEASE.nwr"]
            command = _command(fitted, files, name)
            if command is not None:
                yield (f"Fit {fitted.result.info.formula}" if not isinstance(fitted.result, Comparison) else
                       f"Compare models of {fitted.result.info.formula}"), command
                saved += [] if isinstance(fitted.result, PointEstimate) else [name]
        if subject.release.kind == "partition":
            yield "The answers and the tests", f"{_line('answer', names)}\n{_line('test', names)}"
        elif not subject.results:
            yield "What anyone can do with the release, for example", _line("fit", [*_shown(names), *_example(subject)])
    options = [*(["--title", title] if title else []), *([] if interval == 0.95 else ["--interval", f"{interval:g}"])]
    yield "Write this report", _line("report", [*_shown(releases), *saved, "-o", output, *options])


def _path(file: ReleaseFile) -> str:
    """The name of the file, or of one that a release which was given in Python could be saved to."""
    return file.name if file.sha256 else f"{file.name.replace(' ', '-')}.nwr"


def _example(subject: Subject) -> list[str]:
    """A formula that the release allows, and the family that goes with it."""
    release = subject.release
    if isinstance(release, Release) and release.formula is not None:
        is_count = isinstance(release.schema.column(release.columns[-1].factors[0].column), Numeric)
        return [release.formula, *(["--family", "poisson" if is_count else "logistic"] if release.kind == "moments" else [])]
    numbers = [column.name for column in release.schema.columns if isinstance(column, Numeric)]
    response = (numbers or list(release.schema.names))[0]
    others = [name for name in release.schema.names if name != response][:3]
    return [f"{_in_formula(response)} ~ {' + '.join(map(_in_formula, others)) or '1'}"]


def _in_formula(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _shown(names: list[str]) -> list[str]:
    """All files, or those at the beginning and a word for the rest."""
    return names if len(names) <= MOST_FILES else [*names[:2], "AND-ALL-OTHERS"]


def _line(command: str, words: Iterable[str]) -> str:
    """A command as a shell takes it, broken where it gets long."""
    lines = [f"noisewise {command}"]
    for word in map(shlex.quote, words):
        if len(lines[-1]) + len(word) > LINE and (word.startswith("-") or len(lines[-1]) > LINE):
            lines.append("   ")
        lines[-1] += f" {word}"
    return " \\\n".join(lines)


def _command(fitted: Fitted, files: list[str], name: str) -> str | None:
    found, info = fitted.result, fitted.result.info
    seed = [] if info.seed is None else ["--seed", str(info.seed)]
    if isinstance(found, Comparison):
        asked = found.question
        methods = [word for method in dict.fromkeys([asked.method, *found.others]) for word in ("--method", method)]
        kept = [word for term in asked.kept if term != "Intercept" for word in ("--keep", term)]
        priors = ["--prior", asked.prior, "--model-prior", asked.model_prior]
        return _line("compare", [*files, found.design.formula, *methods, *priors, *kept, "--draws", str(info.draws), *seed,
                                 "--save", name])
    if isinstance(found, PointEstimate):
        return _line("fit", [*files, info.formula])
    if info.method == AVERAGED:
        return None
    family = [] if info.family == "gaussian" else ["--family", info.family]
    method = ["--method", info.method] if found.has_sigma and found.sites is None and info.method != DEFAULT_METHOD else []
    site = [] if found.sites is None else ["--site", "random-intercept" if found.sites.varying == ("Intercept",) else "random"]
    size = ["--draws", str(info.draws), "--chains", str(info.chains)]
    return _line("fit", [*files, info.formula, *family, *method, *site, *size, *seed, "--save", name])


def _notes(subjects: Sequence[Subject]) -> list[str]:
    found = ["A release cannot be made again: its noise has no seed, and a second one would spend privacy again. Everything "
             "after it can be repeated by anyone who has the file."]
    if any(file.sha256 is None for subject in subjects for file in subject.files):
        found.append("Releases that were given in Python have to be saved first, under the names that the commands use.")
    results = [fitted.result for subject in subjects for fitted in subject.results]
    if any(result.info.seed is None for result in results):
        found.append("The seed of a fit was not recorded: its draws will differ a little.")
    if any(isinstance(result, Posterior) for result in results):
        found.append("Draws are the same to the last digit only on the same kind of machine with the same versions. A prior that "
                     "was given by hand in Python is not part of these commands; the tables of the fits state the priors.")
    return found


def _files(subjects: Sequence[Subject]) -> Table:
    rows = []
    for subject in subjects:
        for file in subject.files:
            size = "–" if file.size is None else count(file.size)
            rows.append((file.name, size, file.sha256 or "given in Python, not as a file"))
        if isinstance(subject.release, MicrodataRelease):
            rows_file = subject.release.file
            rows.append((rows_file.name, count(rows_file.bytes), rows_file.sha256))
    return Table.of("Release files and their SHA-256 digests", ["File", "Bytes", "SHA-256"], rows, words=(0, 2))


def _versions() -> list[tuple[str, str]]:
    """Of what wrote the report."""
    found = [("noisewise", __version__), ("Python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return found
