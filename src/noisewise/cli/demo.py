"""``noisewise demo``: the whole workflow, from rows to a plot, on a made-up table with known coefficients."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from noisewise.cli.files import check_folder, write_file
from noisewise.cli.guard import guarded
from noisewise.cli.output import Output
from noisewise.cli.tables import columns
from noisewise.errors import ConvergenceWarning, ResultError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas
    from rich.table import Table

    from noisewise.results import Posterior

    Column: TypeAlias = npt.NDArray[Any]

FORMULA: Final = "stay ~ age + sex + ward + procedures + emergency"

WARDS: Final = ("general", "surgery", "cardiology", "geriatrics")
WARD_EFFECT: Final = {"surgery": 2.0, "cardiology": 1.0, "geriatrics": 3.5}

REST_SHAPE: Final = 0.6
REST_SCALE: Final = 3.5
"""The centred gamma residual is at least −2.1 and the linear predictor at least 2.4, so no stay is negative."""

TRUTH: Final = {
    "Intercept": 1.5,
    "age": 0.05,
    "sex[T.male]": 0.4,
    **{f"ward[T.{ward}]": effect for ward, effect in WARD_EFFECT.items()},
    "procedures": 0.8,
    "emergency[T.yes]": 1.5,
    "sigma": REST_SHAPE**0.5 * REST_SCALE,
}
"""The true coefficients, named as in a fit of FORMULA."""

MARK: Final = "# Made by `noisewise demo`."

SCHEMA: Final = f"""\
{MARK} What is public about patients.parquet.
# Bounds and levels come from public knowledge (admission rules, the hospital's list of wards), never from the data.

adjacency = "replace-one"   # the number of rows is public; the content of each row is protected
unit = "row"                # each patient has one row

[columns.stay]              # days, with hours as decimals
bounds = [0, 40]

[columns.age]               # completed years; the hospital admits adults
bounds = [18, 98]

[columns.sex]
levels = ["female", "male"]

[columns.ward]              # the first level is the reference
levels = {json.dumps(WARDS)}

[columns.procedures]        # ten or more are recorded as 10
bounds = [0, 10]

[columns.emergency]
levels = ["no", "yes"]
"""

DELTA: Final = 1e-6
FILES: Final = {
    "table": ("patients.parquet", "the made-up rows; real ones would never leave the data holder"),
    "schema": ("schema.toml", "what is public about them: bounds, levels, whom to protect"),
    "release": ("patients.nwr", "the noisy summary, safe to share with anyone"),
    "summary": ("summary.csv", "the table above"),
    "picture": ("coefficients.png", "the same as a plot"),
}
NORMAL_95: Final = 1.959963984540054
PARTS: Final = ("estimate", "lower", "upper")


@guarded(holder=False)
def demo(
    out: Output,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for all files.")] = Path("noisewise-demo"),
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="Epsilon to spend.")] = 1.0,
    rows: Annotated[int, typer.Option(help="Number of made-up patients.", min=100, max=5_000_000)] = 20_000,
    seed: Annotated[int, typer.Option(help=(
        "Seed for the made-up table and the sampler; the privacy noise has no seed."), min=0)] = 1,
) -> None:
    """See it work: release and analyse a made-up patient table, and compare the result with the truth.

    Takes less than a minute, downloads nothing, and puts all files in one folder.
    """
    import noisewise
    from noisewise.privacy.calibration import check_epsilon

    started = time.perf_counter()
    check_epsilon(epsilon)
    paths = _prepare(output)
    out.note(f"Making up {rows:,} patients …")
    patients = made_up_patients(rows, seed)
    _write_table(paths, patients)
    out.note(f"Releasing the table at epsilon {epsilon:g}, delta {DELTA:g} …")
    schema = noisewise.Schema.load(paths["schema"])
    noisewise.release(paths["table"], schema, epsilon=epsilon, delta=DELTA, run=out.run()).save(paths["release"])
    out.note("Fitting a regression to the release alone …")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # _tell prints it
        posterior = noisewise.fit(FORMULA, noisewise.load(paths["release"]), seed=seed, run=out.run())
    terms = _compared(posterior, patients)
    write_file(paths["summary"], terms.to_csv(index=False))
    references = {"true value": "true_value", "non-private fit": "least_squares_estimate"}
    posterior.plot(reference={name: dict(zip(terms["term"], terms[column], strict=True)) for name, column in references.items()},
                   path=paths["picture"])
    _tell(out, posterior, terms, rows, epsilon)
    _tell_files(out, paths)
    out.document({"rows": rows, "epsilon": epsilon, "delta": DELTA, "formula": FORMULA, "seed": seed,
                  "terms": terms.to_dict("records"), "problems": posterior.diagnose(), "files": paths,
                  "seconds": time.perf_counter() - started})


def _prepare(folder: Path) -> dict[str, Path]:
    """Create the folder; replace existing files only if an earlier demo made them."""
    paths = {kind: folder / name for kind, (name, _) in FILES.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        schema = paths["schema"]
        ours = schema.is_file() and schema.read_bytes().startswith(MARK.encode())
    except OSError as error:
        raise ResultError("the demo needs a writable folder", found=f"{folder}: {error.strerror}",
                          remedy="choose another folder with --output") from error
    in_the_way = [path.name for path in paths.values() if path.exists()]
    if in_the_way and not ours:
        raise ResultError("the demo overwrites only its own files", found=f"{folder} has {', '.join(in_the_way)}",
                          remedy="choose another folder with --output")
    check_folder(paths["schema"], ResultError)
    return paths


def _write_table(paths: dict[str, Path], patients: dict[str, Column]) -> None:
    import pyarrow
    import pyarrow.parquet

    write_file(paths["schema"], SCHEMA)
    try:
        pyarrow.parquet.write_table(pyarrow.table(patients), paths["table"])
    except OSError as error:
        raise ResultError("cannot write the made-up table", found=f"{paths['table']}: {error.strerror}",
                          remedy="free some disk space, or choose another folder with --output") from error


def _compared(posterior: Posterior, patients: dict[str, Column]) -> pandas.DataFrame:
    """Tabulate truth, least squares on the rows, and the private fit for each term, sigma last, with 95 % intervals."""
    import pandas

    terms = list(posterior.terms)
    table = pandas.DataFrame({"term": terms, "true_value": [TRUTH[term] for term in terms]})
    values, errors = _least_squares(posterior, patients)
    found = {"least_squares": [values, values - NORMAL_95 * errors, values + NORMAL_95 * errors],
             "private": [*posterior.summary()[["mean", "2.5%", "97.5%"]].to_numpy().T]}
    for kind, numbers in found.items():
        for name, part in zip(PARTS, numbers, strict=True):
            table[f"{kind}_{name}"] = part
    table["private_interval_covers_truth"] = table["true_value"].between(table["private_lower"], table["private_upper"])
    return table


def _least_squares(posterior: Posterior, patients: dict[str, Column]) -> tuple[Column, Column]:
    """Return the least-squares estimates and standard errors from the rows, sigma last."""
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
    # Stays are skewed, so the sampling variance of the variance uses the fourth moment instead of normal theory.
    sigma_error = ((float(np.mean(residuals**4)) - variance**2) / freedom) ** 0.5 / (2 * sigma)
    return np.array([*coefficients, sigma]), np.array([*np.sqrt(variance * np.diag(inverse)), sigma_error])


def _tell(out: Output, posterior: Posterior, terms: pandas.DataFrame, rows: int, epsilon: float) -> None:
    out.explain()
    out.explain("What just happened", style="bold")
    out.explain(f"noisewise reduced a table of {rows:,} made-up patients to sums of products of its columns and added noise to "
                "each sum: enough that the result would look almost the same if any one patient's row were different "
                f"(epsilon {epsilon:g}, delta {DELTA:g}). From this noisy summary alone it then estimated what drives the "
                "length of stay, in days:")
    out.result(_table(terms, narrow=out.width < 100))
    out.explain(f"{terms['private_interval_covers_truth'].sum()} of {len(terms)} private intervals cover the true value; on "
                "average one in 20 does not. All share the same noise, so misses tend to come together. The noise is fresh in "
                "every run, so run it again and see. Private intervals are wider than those from the rows: the difference is "
                "the price of privacy. sigma is the residual standard deviation.")
    problems = posterior.diagnose()
    if problems:
        out.warn(f"do not trust these draws yet: {'; '.join(problems)}")


def _table(terms: pandas.DataFrame, *, narrow: bool) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0 if narrow else 2, 0, 0), pad_edge=False)
    table.add_column("term", style="bold", no_wrap=True)
    table.add_column("true\nvalue", justify="right", no_wrap=True)
    for who, style in (("least\nsquares", None), ("private\nmean", "cyan")):
        table.add_column(who, justify="right", style=style)
        table.add_column("95 %\nfrom", justify="right", style=style, no_wrap=True)
        table.add_column("\nto", justify="right", style=style, no_wrap=True)
    table.add_column("covers\ntruth?", justify="center")
    names = ["true_value", *(f"{kind}_{name}" for kind in ("least_squares", "private") for name in PARTS)]
    cells = columns(terms, names, (terms["private_upper"] - terms["private_lower"]) / 4)
    for term, *line, covered in zip(terms["term"], *cells, terms["private_interval_covers_truth"], strict=True):
        table.add_row(term, *line, "yes" if covered else "no")
    return table


def _tell_files(out: Output, paths: dict[str, Path]) -> None:
    out.explain()
    out.explain("Files", style="bold")
    width = max(len(str(path)) for path in paths.values())
    for kind, path in paths.items():
        out.heading(f"  {path!s:<{width}}  {FILES[kind][1]}", style=None)
    release, schema, table = (quote(str(paths[kind])) for kind in ("release", "schema", "table"))
    out.explain()
    out.explain("What to try next", style="bold")
    out.explain("As an analyst who has only the release:")
    out.suggest(f"noisewise show {release}", f'noisewise fit {release} "procedures ~ age + ward + emergency"',
                f'noisewise compare {release} "procedures ~ age + sex + ward + emergency"')
    out.explain("As a data holder, with a smaller epsilon or your own table:")
    again = quote(str(paths["release"].with_name("stricter.nwr")))
    out.suggest(f"noisewise schema check {schema} {table}",
                f"noisewise release {table} --schema {schema} --epsilon 0.5 --delta 1e-6 -o {again}",
                "noisewise schema init YOUR-TABLE.parquet")


def made_up_patients(rows: int, seed: int | None) -> dict[str, Column]:
    """Make up a table of patients with known coefficients.

    It is skewed and correlated like real tables: wards differ in age, older patients are emergencies more often, surgery involves
    more procedures, and lengths of stay have a long right tail. The stay depends on the recorded columns with the coefficients in
    TRUTH, plus a centred gamma residual. Only the gamma's far tail can exceed the declared bounds.

    >>> list(made_up_patients(3, seed=1))
    ['patient', 'age', 'sex', 'ward', 'procedures', 'emergency', 'stay']
    """
    import numpy as np

    random = np.random.default_rng(seed)
    male = random.random(rows) < 0.47
    # Two groups of admissions: younger adults, and a larger group of older ones.
    young = random.random(rows) < 0.35
    age = np.floor(np.where(young, 18 + random.gamma(2.5, 9.0, rows), 97.99 - random.gamma(3.0, 7.5, rows))).clip(18, 98)
    ward = _wards(random, age, male)
    emergency = random.random(rows) < _share(-1.2 + 0.02 * (age - 50) + 0.9 * (ward == 2) - 0.5 * (ward == 1))
    procedures = np.minimum(random.poisson(random.gamma(1.2, (0.6 + 1.9 * (ward == 1) + 0.6 * (ward == 2)) / 1.2)), 10)
    effects = np.array([0.0, *WARD_EFFECT.values()])
    expected = (
        TRUTH["Intercept"] + TRUTH["age"] * age + TRUTH["sex[T.male]"] * male + effects[ward]
        + TRUTH["procedures"] * procedures + TRUTH["emergency[T.yes]"] * emergency
    )
    rest = random.gamma(REST_SHAPE, REST_SCALE, rows) - REST_SHAPE * REST_SCALE
    return {
        "patient": np.array([f"P{number:07d}" for number in range(1, rows + 1)]),
        "age": age.astype(np.int64),
        "sex": np.where(male, "male", "female"),
        "ward": np.array(WARDS)[ward],
        "procedures": procedures.astype(np.int64),
        "emergency": np.where(emergency, "yes", "no"),
        "stay": np.round(expected + rest, 2),
    }


def _wards(random: np.random.Generator, age: Column, male: Column) -> Column:
    """Draw the index of each patient's ward: geriatrics for the old, cardiology more often for men and after 50."""
    import numpy as np

    weights = np.stack([
        np.full(len(age), 1.0),
        np.full(len(age), 0.8),
        0.3 + 0.5 * _share((age - 55) / 6) * np.where(male, 1.3, 0.8),
        0.9 * _share((age - 78) / 3),
    ])
    steps = np.cumsum(weights / weights.sum(axis=0), axis=0)[:-1]
    chosen: Column = (random.random(len(age)) > steps).sum(axis=0)
    return chosen


def _share(logit: Column) -> Column:
    import numpy as np

    result: Column = 1.0 / (1.0 + np.exp(-logit))
    return result
