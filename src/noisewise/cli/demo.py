"""``noisewise demo``: the whole way, from rows to a picture, on a made-up table whose truth is known."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from noisewise.cli.demo_table import FORMULA, MARK, SCHEMA, TRUTH, made_up_patients
from noisewise.cli.files import check_folder, write_text
from noisewise.cli.guard import guarded
from noisewise.cli.numbers import aligned, decimals_for, fixed
from noisewise.cli.options import AsJson, Quiet, Traceback
from noisewise.cli.talk import Talk
from noisewise.errors import ConvergenceWarning, ResultError

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.cli.demo_table import Column
    from noisewise.results import Posterior

DELTA: Final = 1e-6
FILES: Final = {"table": "patients.parquet", "schema": "schema.toml", "release": "patients.nwr", "summary": "summary.csv",
                "picture": "coefficients.png"}
NORMAL_95: Final = 1.959963984540054


@dataclass(frozen=True)
class Row:
    """One term: what is true, what the rows say, and what the release says."""

    term: str
    truth: float
    exact: tuple[float, float, float]
    private: tuple[float, float, float]

    @property
    def covered(self) -> bool:
        return self.private[1] <= self.truth <= self.private[2]

    def to_dict(self) -> dict[str, Any]:
        named = {"term": self.term, "true_value": self.truth}
        for kind, (middle, lower, upper) in (("least_squares", self.exact), ("private", self.private)):
            named |= {f"{kind}_estimate": middle, f"{kind}_lower": lower, f"{kind}_upper": upper}
        return {**named, "private_interval_covers_truth": self.covered}


@guarded(holder=False)
def demo(
    context: typer.Context,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for all files.")] = Path("noisewise-demo"),
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="How much privacy is spent.")] = 1.0,
    rows: Annotated[int, typer.Option(help="The number of made-up patients.", min=100, max=5_000_000)] = 20_000,
    seed: Annotated[int, typer.Option(help="For the made-up table and the sampler; the privacy noise has no seed.", min=0)] = 1,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """See it work: a made-up patient table is released and analysed, and the result compared with the truth.

    Takes less than a minute, downloads nothing, and leaves all files in one folder.
    """
    talk = Talk.of(context)
    started = time.perf_counter()
    import noisewise
    from noisewise.privacy.calibration import check_epsilon

    check_epsilon(epsilon)
    paths = _prepare(output)
    talk.note(f"Making up {rows:,} patients …")
    patients = made_up_patients(rows, seed)
    _write_table(paths, patients)
    talk.note(f"Releasing the table at epsilon {epsilon:g}, delta {DELTA:g} …")
    noisewise.release(
        paths["table"], noisewise.Schema.load(paths["schema"]), epsilon=epsilon, delta=DELTA, progress=talk.progress
    ).save(paths["release"])
    talk.note("Fitting a regression to the release alone …")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told below
        posterior = noisewise.fit(FORMULA, noisewise.load(paths["release"]), seed=seed, progress=talk.progress)
    comparison = _compare(posterior, patients)
    _write_results(paths, posterior, comparison)
    _tell(talk, paths, posterior, comparison, rows, epsilon)
    talk.document(
        {
            "rows": rows,
            "epsilon": epsilon,
            "delta": DELTA,
            "formula": FORMULA,
            "seed": seed,
            "terms": [row.to_dict() for row in comparison],
            "problems": posterior.diagnose(),
            "files": paths,
            "seconds": time.perf_counter() - started,
        }
    )


def _prepare(folder: Path) -> dict[str, Path]:
    """Make the folder; files in it are replaced only if an earlier demo made them."""
    paths = {kind: folder / name for kind, name in FILES.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        schema = paths["schema"]
        ours = schema.is_file() and schema.read_bytes().startswith(MARK.encode())
    except OSError as error:
        raise ResultError("the demo needs a folder for its files", found=f"{folder}: {error.strerror}",
                          remedy="choose another one with --output") from error
    in_the_way = [path.name for path in paths.values() if path.exists()]
    if in_the_way and not ours:
        raise ResultError("the demo replaces no files but its own", found=f"{folder} has {', '.join(in_the_way)}",
                          remedy="choose another folder with --output")
    check_folder(paths["schema"], ResultError)
    return paths


def _write_table(paths: dict[str, Path], patients: dict[str, Column]) -> None:
    import pyarrow
    import pyarrow.parquet

    write_text(paths["schema"], SCHEMA)
    try:
        pyarrow.parquet.write_table(pyarrow.table(patients), paths["table"])
    except OSError as error:
        raise ResultError("the made-up table could not be written", found=f"{paths['table']}: {error.strerror}",
                          remedy="make room or choose another folder with --output") from error


def _write_results(paths: dict[str, Path], posterior: Posterior, comparison: list[Row]) -> None:
    import pandas

    write_text(paths["summary"], pandas.DataFrame([row.to_dict() for row in comparison]).to_csv(index=False))
    references = {
        "true value": {row.term: row.truth for row in comparison},
        "non-private fit": {row.term: row.exact[0] for row in comparison},
    }
    posterior.plot(reference=references, path=paths["picture"])


def _compare(posterior: Posterior, patients: dict[str, Column]) -> list[Row]:
    exact = _least_squares(posterior, patients)
    summary = posterior.summary()
    private = summary[["mean", "2.5%", "97.5%"]].itertuples(index=False)
    return [
        Row(term, TRUTH[term], exact[place], (float(values[0]), float(values[1]), float(values[2])))
        for place, (term, values) in enumerate(zip(posterior.terms, private, strict=True))
    ]


def _least_squares(posterior: Posterior, patients: dict[str, Column]) -> list[tuple[float, float, float]]:
    """Estimate and 95 % interval of each term from the rows themselves, sigma last."""
    import numpy as np

    design = posterior.design
    predictors = design.matrix({name: patients[name] for name in design.columns_needed})
    response = patients[design.response]
    inverse = np.linalg.inv(predictors.T @ predictors)
    coefficients = inverse @ (predictors.T @ response)
    residuals = response - predictors @ coefficients
    freedom = len(response) - predictors.shape[1]
    variance = float(residuals @ residuals) / freedom
    sigma = variance**0.5
    # The sampling variance of a variance depends on the fourth moment: stays are skewed, so no normal theory here.
    sigma_error = ((float(np.mean(residuals**4)) - variance**2) / freedom) ** 0.5 / (2 * sigma)
    estimates = [*coefficients, sigma]
    errors = [*np.sqrt(variance * np.diag(inverse)), sigma_error]
    return [
        (float(value), float(value - NORMAL_95 * error), float(value + NORMAL_95 * error))
        for value, error in zip(estimates, errors, strict=True)
    ]


def _tell(talk: Talk, paths: dict[str, Path], posterior: Posterior, comparison: list[Row], rows: int, epsilon: float) -> None:
    covered = sum(row.covered for row in comparison)
    talk.explain()
    talk.explain("What just happened", style="bold")
    talk.explain(
        f"A table of {rows:,} made-up patients was reduced to sums of products of its columns, and noise was added to each sum: "
        "so much that the result would look almost the same if any one patient's row had said something else "
        f"(epsilon {epsilon:g}, delta {DELTA:g}). "
        "Only this noisy summary was then used to ask what drives the length of stay, in days:"
    )
    talk.result(_table(comparison, narrow=talk.width < 100))
    talk.explain(
        f"{covered} of {len(comparison)} private intervals cover the true value. On average one in 20 does not. "
        "The noise is new in every run, so run it again and see. Private intervals are wider than those from the rows: that is "
        "the price of privacy, and they say how high it is. sigma is the residual standard deviation."
    )
    problems = posterior.diagnose()
    if problems:
        talk.warn(f"do not trust these draws yet: {'; '.join(problems)}")
    if not talk.quiet:
        _files_and_next_steps(talk, paths)


def _table(comparison: list[Row], *, narrow: bool) -> Table:
    from rich import box
    from rich.table import Table

    places = [decimals_for((row.private[2] - row.private[1]) / 4) for row in comparison]

    def cells_of(values: list[float]) -> list[str]:
        return aligned([fixed(value, decimals) for value, decimals in zip(values, places, strict=True)])

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0 if narrow else 2, 0, 0), pad_edge=False)
    table.add_column("term", style="bold", no_wrap=True)
    table.add_column("true\nvalue", justify="right", no_wrap=True)
    for who, style in (("least\nsquares", None), ("private\nmean", "cyan")):
        table.add_column(who, justify="right", style=style)
        table.add_column("95 %\nfrom", justify="right", style=style, no_wrap=True)
        table.add_column("\nto", justify="right", style=style, no_wrap=True)
    table.add_column("covers\ntruth?", justify="center")
    columns = [cells_of([row.truth for row in comparison])]
    columns += [cells_of([row.exact[place] for row in comparison]) for place in range(3)]
    columns += [cells_of([row.private[place] for row in comparison]) for place in range(3)]
    columns.append(["yes" if row.covered else "no" for row in comparison])
    for row, *cells in zip(comparison, *columns, strict=True):
        table.add_row(row.term, *cells)
    return table


def _files_and_next_steps(talk: Talk, paths: dict[str, Path]) -> None:
    what = {
        "table": "the made-up rows: the confidential part, never leaves the data holder",
        "schema": "what is public about them: bounds, levels, whom to protect",
        "release": "the noisy summary: may be given to anyone",
        "summary": "the table above",
        "picture": "the same as a picture",
    }
    talk.explain()
    talk.explain("Files", style="bold")
    width = max(len(str(path)) for path in paths.values())
    for kind, path in paths.items():
        talk.line(f"  {path!s:<{width}}  {what[kind]}")
    release, schema, table = (quote(str(paths[kind])) for kind in ("release", "schema", "table"))
    talk.explain()
    talk.explain("What to try next", style="bold")
    talk.explain("As an analyst, who has the release and nothing else:")
    talk.suggest(f"noisewise show {release}", f'noisewise fit {release} "procedures ~ age + ward + emergency"',
                 f'noisewise compare {release} "procedures ~ age + sex + ward + emergency"')
    talk.explain("As a data holder, with less privacy spent, or for a table of your own:")
    again = quote(str(paths["release"].with_name("stricter.nwr")))
    talk.suggest(
        f"noisewise schema check {schema} {table}",
        f"noisewise release {table} --schema {schema} --epsilon 0.5 --delta 1e-6 -o {again}",
        "noisewise schema init YOUR-TABLE.parquet",
    )
