"""How to cite and repeat what a report shows: exact commands, digests and versions."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Final

from noisewise.reports import papers
from noisewise.reports.given import Fitted, ReleaseFile, Subject
from noisewise.reports.kinds.view import view_of
from noisewise.reports.numbers import Table, count
from noisewise.results.comparison import AVERAGED, Comparison
from noisewise.results.fit_info import ROBUST, FitInfo
from noisewise.results.point_estimate import PointEstimate
from noisewise.results.posterior import INDEPENDENT, ROUNDS, Posterior
from noisewise.version import __version__

AUTHORS: Final = "The noisewise developers"
TITLE: Final = "noisewise: differentially private Bayesian regression"
DEFAULT_METHOD: Final = "conditional"
PACKAGES: Final = ("numpy", "scipy", "jax", "blackjax")
MOST_FILES: Final = 8
LINE: Final = 60


def redo(subjects: Sequence[Subject], output: str, title: str | None, interval: float) -> dict[str, object]:
    """Everything needed to cite and repeat, by the names that the template uses."""
    results = [fitted.result for subject in subjects for fitted in subject.results]
    bibtex = f"@software{{noisewise,\n  author = {{{{{AUTHORS}}}}},\n  title = {{{TITLE}}},\n  version = {{{__version__}}}\n}}"
    return {
        "citation": f"{AUTHORS}. {TITLE}. Version {__version__}.", "bibtex": bibtex,
        "papers": _papers(subjects), "commands": list(_commands(subjects, output, title, interval)), "files": _files(subjects),
        "versions": _versions(), "unsaved": any(file.sha256 is None for subject in subjects for file in subject.files),
        "unseeded": any(result.info.seed is None for result in results),
        "drawn": any(isinstance(result, Posterior) for result in results),
    }


def _papers(subjects: Sequence[Subject]) -> list[str]:
    found: set[str] = set()
    for subject in subjects:
        found.update(view_of(subject.release.kind).papers_of(subject.release))
        for fitted in subject.results:
            info = fitted.result.info
            found.update(_papers_of(info))
            if isinstance(fitted.result, Posterior) and info.method not in INDEPENDENT:
                found.add(papers.VEHTARI)
    return sorted(found)


def _papers_of(info: FitInfo) -> tuple[str, ...]:
    if info.method.removesuffix(ROBUST) == ROUNDS:
        return papers.OF_ROUNDS
    return papers.OF_METHODS.get(info.method, ()) if info.family == "gaussian" else papers.OF_OTHER_FAMILIES


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
        view = view_of(subject.release.kind)
        if not subject.results:
            examples = [_line(command, [*_shown(names), *words]) for command, *words in view.commands(subject.release)]
            yield view.heading, "\n".join(examples)
    options = [*(["--title", title] if title else []), *([] if interval == 0.95 else ["--interval", f"{interval:g}"])]
    yield "Write this report", _line("report", [*_shown(releases), *saved, "-o", output, *options])


def _path(file: ReleaseFile) -> str:
    """The name of the file, or a name under which a release given in Python can be saved."""
    return file.name if file.sha256 else f"{file.name.replace(' ', '-')}.nwr"


def _shown(names: list[str]) -> list[str]:
    """All files, or the first two and a placeholder for the rest."""
    return names if len(names) <= MOST_FILES else [*names[:2], "AND-ALL-OTHERS"]


def _line(command: str, words: Iterable[str]) -> str:
    """A shell command, broken into lines if it is long."""
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
    size = ["--draws", str(info.draws), "--chains", str(info.chains)]
    if info.method.removesuffix(ROBUST) == ROUNDS:  # the file has the formula and the family
        return _line("fit", [*files, *(["--robust"] if info.robust else []), *size, *seed, "--save", name])
    family = [] if info.family == "gaussian" else ["--family", info.family]
    method = ["--method", info.method] if found.has_sigma and found.sites is None and info.method != DEFAULT_METHOD else []
    site = [] if found.sites is None else ["--site", "random-intercept" if found.sites.varying == ("Intercept",) else "random"]
    return _line("fit", [*files, info.formula, *family, *method, *site, *size, *seed, "--save", name])


def _files(subjects: Sequence[Subject]) -> Table:
    rows = []
    for subject in subjects:
        for file in subject.files:
            size = "–" if file.size is None else count(file.size)
            rows.append((file.name, size, file.sha256 or "given in Python, not as a file"))
        further = view_of(subject.release.kind).files(subject.release)
        rows += [(name, count(size), sha256) for name, (size, sha256) in further.items()]
    return Table.of("Release files and their SHA-256 digests", ["File", "Bytes", "SHA-256"], rows, words=(0, 2))


def _versions() -> list[tuple[str, str]]:
    """The versions of the software that wrote the report."""
    found = [("noisewise", __version__), ("Python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return found
