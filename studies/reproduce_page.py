"""Show verdicts: as a table in the terminal, as a folder with a page and pictures, and as pages of the documentation."""

from __future__ import annotations

import base64
import html
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from studies import page, reproduce_quick
from studies.page import filled, table, words_of
from studies.registry import DATA, PAPERS, Paper, Study
from studies.reproduce_quick import in_minutes, said_settings
from studies.verdicts import LIMIT, Target, Verdict, other_limit

if TYPE_CHECKING:
    from rich.table import Table

STYLES: Final = {Verdict.REPRODUCED: ("green", "#1b7837"), Verdict.ONLY_WITH_ERROR: ("yellow", "#b35806"),
                 Verdict.ONE_READING: ("yellow", "#b35806"), Verdict.IN_PART: ("yellow", "#b35806"),
                 Verdict.NOT: ("red", "#b2182b"), Verdict.UNDECIDED: ("cyan", "#2166ac"),
                 Verdict.INCOMPARABLE: ("dim", "#666666"), Verdict.NOT_RUN: ("dim", "#666666")}
HEAD: Final = ("where", "what", "printed", "measured", "verdict", "why")
PICTURE: Final = "printed-and-measured.png"
WIDER: Final = 3.0
"""The limit to compare with, in standard errors."""


def described(paper: Paper) -> dict[str, Any]:
    """A paper and its studies as JSON."""
    return {"number": paper.number, "name": paper.name, "title": paper.title, "authors": paper.authors,
            "published": paper.published, "studies": [
                {"name": study.name, "covers": study.covers.split(", "), "how": study.how, "quick": times(paper, study)[0],
                 "full": times(paper, study)[1], "data": list(study.data)} for study in paper.studies]}


def heading(paper: Paper) -> str:
    return f"{paper.number} {paper.name}: {paper.authors}, {paper.title} ({paper.published})"


def listing(paper: Paper) -> Table:
    """Its studies."""
    from rich import box
    from rich.table import Table

    found = Table(box=box.SIMPLE_HEAD)
    for name in ("study", "tables and figures", "quick*", "full*", "data needed"):
        found.add_column(name, overflow="fold")
    for study in paper.studies:
        found.add_row(study.name, study.covers, *times(paper, study), "\n".join(study.data) or "none")
    return found


def terminal_table(targets: Sequence[Target]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    found = Table(box=box.SIMPLE_HEAD)
    for name in ("where", "what", "printed", "measured", "verdict"):
        found.add_column(name, overflow="fold")
    for one in targets:
        found.add_row(one.where, one.what, "(sentence)" if one.printed == one.what else one.printed, one.measured,
                      Text(str(one.verdict), style=STYLES[one.verdict][0]))
    return found


def counted(targets: Sequence[Target]) -> str:
    counts = Counter(one.verdict for one in targets)
    return f"{len(targets)} targets: " + ", ".join(f"{counts[one]} {one}" for one in Verdict if counts[one])


def target_table(targets: Sequence[Target]) -> list[str]:
    return table(HEAD, [[_cell(one.where), _cell(one.what), "" if one.printed == one.what else _cell(one.printed),
                         _cell(one.measured), str(one.verdict) if one.verdict == Verdict.REPRODUCED else f"**{one.verdict}**",
                         _cell(one.why)] for one in targets])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def markdown(paper: Paper, targets: Sequence[Target], results: Path, pictures: Mapping[str, str], quick: bool) -> str:
    lines = [f"# Paper {paper.number}, {'quick' if quick else 'full'} run", "",
             f"{paper.authors}, *{paper.title}*. {paper.published}.", "", counted(targets) + ".", "", *_rule(), "",
             *([f"The authors' error is {paper.errors}.", ""] if paper.errors else []), *dated(paper, results), ""]
    lines += [*target_table(targets), ""]
    for name, words in pictures.items():
        lines += [f"![{words}](images/{name})", ""]
    return "\n".join(lines)


def _rule() -> list[str]:
    """The rules of verdicts, from the docstring of the module that computes them."""
    from studies import verdicts

    assert verdicts.__doc__ is not None
    return [line.replace("``LIMIT``", f"{verdicts.LIMIT:g}").replace("(``RELEVANT``) ", "")
            for line in verdicts.__doc__.strip().splitlines()[2:]]


def dated(paper: Paper, results: Path) -> list[str]:
    body = []
    for study in paper.studies:
        said = page.measured(results, study.name)
        if said:
            took = "not recorded" if said.get("seconds") is None else in_minutes(said["seconds"])
            body.append([study.name, study.covers, said["date"], said_settings(said["settings"]), took])
    return table(["study", "covers", "measured on", "settings", "processor time"], body)


def write_folder(paper: Paper, targets: Sequence[Target], results: Path, folder: Path, quick: bool) -> list[str]:
    """Write page, pictures and verdicts of one run, and return the names of the files."""
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    paper.draw(results, images)
    drawn = {PICTURE: "Printed against measured figures"} if draw(targets, images / PICTURE) else {}
    pictures = drawn | {name: words for name, words in paper.pictures.items() if (images / name).exists()}
    text = markdown(paper, targets, results, pictures, quick)
    files = {"page.md": text, "page.html": as_html(paper, targets, images, pictures, quick),
             "verdicts.json": json.dumps([{name: str(value) for name, value in vars(one).items()} for one in targets], indent=1,
                                         ensure_ascii=False)}
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [*files, *(f"images/{name}" for name in pictures)]


def as_html(paper: Paper, targets: Sequence[Target], images: Path, pictures: Mapping[str, str], quick: bool) -> str:
    """One self-contained file, pictures included."""
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in (
        one.where, one.what, "" if one.printed == one.what else one.printed, one.measured))
        + f'<td style="color:{STYLES[one.verdict][1]}"><b>{html.escape(one.verdict)}</b></td><td>{html.escape(one.why)}</td></tr>'
        for one in targets)
    figures = "".join(f'<figure><img alt="{html.escape(words)}" src="data:image/png;base64,'
                      f'{base64.b64encode((images / name).read_bytes()).decode()}"><figcaption>{html.escape(words)}</figcaption>'
                      "</figure>" for name, words in pictures.items())
    rule = html.escape(" ".join(_rule()).replace("**", "").replace("*", ""))
    errors = f"<p>The authors' error is {html.escape(paper.errors)}.</p>" if paper.errors else ""
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>Paper {paper.number}</title><style>{CSS}</style><main><h1>Paper {paper.number}, "
            f"{'quick' if quick else 'full'} run</h1>"
            f"<p>{html.escape(paper.authors)}, <i>{html.escape(paper.title)}</i>. {html.escape(paper.published)}.</p>"
            f"<p>{html.escape(counted(targets))}.</p>{errors}"
            f"<details><summary>How verdicts are computed</summary><p>{rule}</p></details>"
            f"<table><thead><tr>{''.join(f'<th>{name}</th>' for name in HEAD)}</tr></thead><tbody>{rows}</tbody></table>"
            f"{figures}</main></html>\n")


CSS: Final = ("body{font:15px/1.5 system-ui,sans-serif;margin:1rem}main{max-width:80rem;margin:auto}"
              "table{border-collapse:collapse;display:block;overflow-x:auto}"
              "td,th{border-bottom:1px solid #ccc;padding:.3rem .6rem;text-align:left;vertical-align:top}"
              "img{max-width:100%;background:#fff}@media(prefers-color-scheme:dark){body{background:#151515;color:#ddd}td b{"
              "filter:brightness(1.7)}}")


def draw(targets: Sequence[Target], path: Path) -> bool:
    """Printed figures over measured ones, with what chance explains; False if nothing is printed as a number."""
    from matplotlib.figure import Figure

    shown = [one for one in targets if one.numbers is not None and one.numbers[0] > 0 and one.numbers[1] > 0]
    if not shown:
        return False
    drawing = Figure(figsize=(8, 0.9 + 0.2 * len(shown)), layout="constrained")
    axis = drawing.subplots()
    for place, one in enumerate(shown):
        assert one.numbers is not None
        printed, measured, error = one.numbers
        low, high = max(1 - LIMIT * error / measured, 0.02), 1 + LIMIT * error / measured
        axis.plot([low, high], [place, place], color="0.75", linewidth=5, solid_capstyle="butt")
        axis.plot(printed / measured, place, "o", markersize=5, color=STYLES[one.verdict][1])
    for verdict in dict.fromkeys(one.verdict for one in shown):
        axis.plot([], [], "o", color=STYLES[verdict][1], label=str(verdict))
    axis.axvline(1.0, color="0.3", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yticks(range(len(shown)), [f"{one.where}: {one.what}" for one in shown], fontsize=7)
    axis.set_ylim(len(shown) - 0.5, -0.5)
    axis.set_xlabel("printed / measured at the authors' noise; grey: what chance explains")
    drawing.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    drawing.savefig(path, dpi=100)
    return True


def write_pages(docs: Path) -> None:
    """Write the page of every paper, the overview and the pictures from the stored results."""
    for paper in PAPERS:
        results = page.RESULTS / f"paper_{paper.number}"
        text = filled(words_of(paper.number).read_text(encoding="utf-8"), paper.report.PIECES, results)
        (docs / f"paper-{paper.number}.md").write_text(text, encoding="utf-8")
        paper.draw(results, docs / "images")
        draw(paper.report.targets(results), docs / "images" / f"paper-{paper.number}-printed.png")
    (docs / "reproductions.md").write_text(overview(), encoding="utf-8")


def overview() -> str:
    """docs/reproductions.md."""
    words = (page.HERE / "reproductions_page.md").read_text(encoding="utf-8")
    return filled(words, {"counts": _counts, "rule": lambda results: _rule(), "papers": _papers, "data": _data,
                          "quick": reproduce_quick.times_table, "quick_settings": reproduce_quick.settings_table,
                          "quick_against_full": reproduce_quick.against_full, "plainly": _plainly, "sensitivity": _sensitivity},
                  page.RESULTS)


def _targets(paper: Paper, results: Path) -> list[Target]:
    found: list[Target] = paper.report.targets(results / f"paper_{paper.number}")
    return found


def _counts(results: Path) -> list[str]:
    shown = [one for one in Verdict if one != Verdict.NOT_RUN]
    body = []
    for paper in PAPERS:
        counts = Counter(one.verdict for one in _targets(paper, results))
        body.append([f"[{paper.number} {paper.name}](#{paper.number}-{paper.name})", f"{paper.authors} ({paper.published[-4:]})",
                     *(str(counts[one] or "–") for one in shown), str(counts.total())])
    return table(["paper", "by", *map(str, shown), "targets"], body)


def _papers(results: Path) -> list[str]:
    lines: list[str] = []
    for paper in PAPERS:
        targets, here = _targets(paper, results), results / f"paper_{paper.number}"
        lines += [f"## {paper.number} {paper.name}", "", f"{paper.authors}, *{paper.title}*. {paper.published}. "
                  f"[All numbers of this paper](paper-{paper.number}.md).", "", f"{counted(targets)}.", ""]
        if paper.errors:
            lines += [f"The authors' error is {paper.errors}.", ""]
        lines += [*dated(paper, here), "", *target_table(targets), ""]
        if any(one.numbers is not None for one in targets):
            lines += [f"![Printed against measured figures of paper {paper.number}](images/paper-{paper.number}-printed.png)", ""]
        lines += [line for name, words in paper.pictures.items() for line in (f"![{words}](images/{name})", "")]
    return lines[:-1]


def _sensitivity(results: Path) -> list[str]:
    """The verdicts that differ with three standard errors."""
    changed = []
    for paper in PAPERS:
        here = _targets(paper, results)
        with other_limit(WIDER):
            wider = _targets(paper, results)
        changed += [f"- {paper.number}, {one.where}, {_cell(one.what)}: {one.verdict}, with {WIDER:g} {other.verdict}"
                    for one, other in zip(here, wider, strict=True) if one.verdict != other.verdict]
    return [f"With {WIDER:g} standard errors instead of {LIMIT:g}, {len(changed)} verdicts would differ:", "", *changed]


def _plainly(results: Path) -> list[str]:
    """The sentences of papers 003 and 004 that do not agree, or rest on little."""
    from studies.paper_003_report import in_one_scaling, targets
    from studies.paper_004_findings import found_in

    found = targets(results / "paper_003", sentences_only=True)
    failed, undecided = ([one for one in found if one.verdict == verdict] for verdict in (Verdict.NOT, Verdict.UNDECIDED))
    single = in_one_scaling(results / "paper_003")
    few = f"  {len(undecided)} more are undecided: " + "; ".join(f"{one.what} ({one.measured})" for one in undecided) + "."
    return [f"- **{len(failed)} of {len(found)} sentences of paper 003 are not reproduced** in any scaling of its data that we "
            "tried: " + "; ".join(one.what for one in failed) + ".", *([few] if undecided else []),
            *([f"  {len(single)} more are reproduced in one scaling only: " + "; ".join(single) + "."] if single else []),
            "  The paper does not say how it scaled rows, and we do not have its supplement, so this does not prove its figures "
            "wrong. [What was tried, and in which order](paper-003.md#what-was-tried-and-in-which-order).",
            f"- **The simulation of paper 004 has {found_in(results / 'paper_004').replicates} replicates of each kind here, and "
            "1000 in the paper.** We compare sentences, because the paper's numbers appear only in pictures."]


def _data(results: Path) -> list[str]:
    return table(["file", "what", "columns", "source"],
                 [[f"`{one.file}`", one.what, one.columns, one.source] for one in DATA.values()])


def times(paper: Paper, study: Study) -> tuple[str, str]:
    """Processor time of a quick and of a full run: as measured if known, otherwise an estimate."""
    seconds = reproduce_quick.stored().get(paper.number, {}).get("studies", {}).get(study.name, {}).get("seconds")
    full = page.measured(page.RESULTS / f"paper_{paper.number}", study.name).get("seconds")
    return (study.times[0] if seconds is None else in_minutes(seconds), study.times[1] if full is None else in_minutes(full))
