"""The five papers: what they print, and the study, settings and data that measure it. Nothing here computes.

A study is a list of cells. Each runs in a separate process and returns lines for files of results. The verdicts on a paper's
targets are computed by ``targets`` of its report from those files (``studies.verdicts`` has the rules).
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, Final

Settings = Mapping[str, Any]
Lines = dict[str, list[dict[str, Any]]]
"""By file of results."""


@dataclass(frozen=True)
class Data:
    """A file that a study reads: public, not shipped, with its source."""

    file: str
    what: str
    source: str
    columns: str


@dataclass(frozen=True)
class Task:
    """A function "module:name" that returns lines by file of results, and its arguments."""

    function: str
    arguments: Settings

    def __call__(self) -> Lines:
        module, name = self.function.split(":")
        found: Lines = getattr(importlib.import_module(f"studies.{module}"), name)(**self.arguments)
        return found


@dataclass(frozen=True)
class Cell:
    """Tasks that share a process, and the file that keeps their results."""

    study: str
    tasks: tuple[Task, ...]
    path: Path


def perform(cell: Cell) -> tuple[Lines, float]:
    """The results of a cell run in a separate process, and the processor seconds since the process began."""
    found: Lines = {}
    for task in cell.tasks:
        for name, lines in task().items():
            found.setdefault(name, []).extend(lines)
    return found, time.process_time()


@dataclass(frozen=True)
class Study:
    name: str
    covers: str
    """The tables, figures and sections that it repeats."""
    how: str
    tasks: Callable[[Settings, str], Iterator[Task]]
    full: Settings
    quick: Settings
    times: tuple[str, str]
    """Approximate processor time of a quick and a full run; a measured time is shown instead if there is one."""
    data: tuple[str, ...] = ()
    together: int = 1
    """The number of cells that share a process, and what it compiles, in a quick run."""

    def task_groups(self, quick: bool, directory: str) -> list[tuple[Task, ...]]:
        tasks = list(self.tasks(self.quick if quick else self.full, directory))
        size = self.together if quick else 1
        return [tuple(tasks[start:start + size]) for start in range(0, len(tasks), size)]


@dataclass(frozen=True)
class Paper:
    number: str
    name: str
    title: str
    authors: str
    published: str
    errors: str
    """The authors' error, if there is one."""
    studies: tuple[Study, ...]
    pictures: Mapping[str, str] = field(default_factory=dict)
    """The pictures drawn from the results, with their text alternatives."""

    @property
    def report(self) -> ModuleType:
        return importlib.import_module(f"studies.paper_{self.number}_report")

    def draw(self, results: Path, images: Path) -> None:
        if self.pictures:
            importlib.import_module(f"studies.paper_{self.number}_figures").draw_all(results, images)

    def chosen(self, table: str | None) -> tuple[Study, ...]:
        """Studies by name, or by a table, figure or section that they cover; empty if there is none."""
        if table is None:
            return self.studies
        wanted = _plain(table)
        named = tuple(one for one in self.studies if _plain(one.name) == wanted)
        return named or tuple(one for one in self.studies if wanted in map(_plain, one.covers.split(", ")))


def _plain(name: str) -> str:
    """Table 1, table-1 and table1 are the same.

    >>> _plain("Table 4.1")
    'table4.1'
    """
    return "".join(letter for letter in name.lower() if letter not in " -_")


DATA: Final = {one.file: one for one in (
    Data("power_plant_energy.csv.gz", "9568 hours of a combined cycle power plant, standardised",
         "UCI Machine Learning Repository, Combined Cycle Power Plant (Tüfekci and Kaya 2014)",
         "4 predictors (standardised over all rows), last PE (centred, divided by its largest absolute value)"),
    Data("bike_sharing.csv.gz", "17,379 hours of hired bicycles, standardised",
         "UCI Machine Learning Repository, Bike Sharing (Fanaee-T 2013), hour.csv without dates",
         "14 predictors (standardised over all rows), last cnt (centred, divided by its largest absolute value)"),
    Data("air_quality.csv.gz", "9357 hours of sensors, standardised; −200, which means missing, kept as a number",
         "UCI Machine Learning Repository, Air Quality (Vito 2008) without date and time",
         "12 predictors (standardised over all rows), last AH (centred, divided by its largest absolute value)"),
    Data("pima.csv.gz", "768 women of Pima heritage",
         "Pima Indians Diabetes, National Institute of Diabetes and Digestive and Kidney Diseases (Smith et al. 1988)",
         "age, pregnancies, pedigree, insulin, outcome (0 or 1)"),
    Data("adult.csv.gz", "48,842 people of the census of 1994; '?' means missing",
         "UCI Machine Learning Repository, Adult (Becker and Kohavi 1996), both parts",
         "age, workclass, education, marital_status, occupation, relationship, sex, income (starts with >50K or <=50K)"),
    Data("hsb2.csv.gz", "200 pupils of High School and Beyond",
         "the sample hsb2 of the R package openintro (National Center for Education Statistics)",
         "gender (male or female), math, science, read"),
    Data("strack_73800.csv.gz", "73,800 diabetic patients, 1999 to 2008, as numbers",
         "UCI Machine Learning Repository, Diabetes 130-US Hospitals (Strack et al. 2014); rows with gender male or female and "
         "three diagnoses that are plain integers",
         "gender_male, age (1 to 10), time_in_hospital, num_lab_procedures, num_procedures, num_medications, diag_1, diag_2, "
         "diag_3"),
)}


def _figures_000(settings: Settings, directory: str) -> Iterator[Task]:
    from studies.paper_000 import PARTS, ROWS

    for rows, parts in product(ROWS, PARTS):
        yield Task("paper_000:cell", {"rows": rows, "parts": parts, "runs": settings["runs"]})


def _tables_001(settings: Settings, directory: str) -> Iterator[Task]:
    from studies.paper_001 import EPSILONS, MORE

    length = {name: settings[name] for name in ("repeats", "warmup", "draws", "thin")}
    for version, copies in product(settings["versions"], (1, 2)):
        for epsilon in (*(MORE if settings["more"] and version != "thesis" else ()), *EPSILONS):
            yield Task("paper_001:posterior_cell", {"version": version, "copies": copies, "epsilon": epsilon, **length})


def _sampler_001(settings: Settings, directory: str) -> Iterator[Task]:
    from studies.paper_001 import EPSILONS

    for copies, epsilon, start in product((1, 2), EPSILONS, settings["starts"]):
        yield Task("paper_001:plain_cell", {"copies": copies, "epsilon": epsilon, "start": start, "repeats": settings["repeats"]})


def _comparators_001(settings: Settings, directory: str) -> Iterator[Task]:
    from studies.paper_001 import EPSILONS, MORE, VERSIONS

    for version, copies in product(VERSIONS, (1, 2)):
        for epsilon in (*(() if version == "thesis" else MORE), *EPSILONS):
            yield Task("paper_001:comparators_cell", {"version": version, "copies": copies, "epsilon": epsilon, **settings})


def _mixing_001(settings: Settings, directory: str) -> Iterator[Task]:
    from studies.paper_001 import MIXING

    for copies, epsilon in product((1, 2), MIXING):
        yield Task("paper_001:mixing_cell", {"copies": copies, "epsilon": epsilon, **settings})


def _table_002(settings: Settings, directory: str) -> Iterator[Task]:
    from dataclasses import asdict

    from studies.paper_002 import METHODS
    from studies.paper_002_table import FILES, cells

    methods = list(settings["methods"] or METHODS)
    for cell in cells(directory, settings["runs"], settings["iterations"], list(FILES), [1, 5, 10], methods):
        yield Task("paper_002_table:cell", asdict(cell))


def _figure_2_002(settings: Settings, directory: str) -> Iterator[Task]:
    from dataclasses import asdict

    from studies.paper_002 import NOISES
    from studies.paper_002_simulation import SHOWN, cells

    methods = list(settings["methods"] or SHOWN)
    for cell in cells(settings["runs"], settings["iterations"], list(settings["holders"]), methods, list(NOISES)):
        yield Task("paper_002_simulation:cell", asdict(cell))


def _times_002(settings: Settings, directory: str) -> Iterator[Task]:
    yield Task("paper_002_simulation:times_cell", settings)


def _table_003(part: str) -> Callable[[Settings, str], Iterator[Task]]:
    def tasks(settings: Settings, directory: str) -> Iterator[Task]:
        from studies.paper_003 import WAYS

        length = {name: settings[name] for name in ("releases", "draws")}
        for way in settings["ways"] or WAYS:
            yield Task("paper_003:table_cell", {"part": part, "directory": directory, "way": way, **length})

    return tasks


def _synthetic_003(settings: Settings, directory: str) -> Iterator[Task]:
    yield Task("paper_003:synthetic_cell", settings)


def _growth_003(settings: Settings, directory: str) -> Iterator[Task]:
    from studies.paper_003_taylor import METHODS

    for method in settings["methods"] or METHODS:
        rest = {name: value for name, value in settings.items() if name != "methods"}
        yield Task("paper_003:growth_cell", {"method": method, **rest})


def _example_004(settings: Settings, directory: str) -> Iterator[Task]:
    for piece, count in (("exact", 0), ("figure_1", settings["splits"]), ("figure_2", settings["splits"]),
                         ("errors", settings["tables"]), ("releases", settings["releases"])):
        yield Task("paper_004_hypotheses:cell", {"piece": piece, "directory": directory, "count": count})


def _simulation_004(settings: Settings, directory: str) -> Iterator[Task]:
    yield Task("paper_004_simulation:noise_cell", {})
    for prior, parts in settings["parts"].items():
        for part in range(parts):
            yield Task("paper_004_simulation:part_cell", {"prior": prior, "part": part, "replicates": settings["replicates"]})


def _histogram_004(settings: Settings, directory: str) -> Iterator[Task]:
    for part in range(settings["replicates"]):
        yield Task("paper_004_simulation:histogram_cell", {"prior": "zellner-siow", "part": part})


def _diabetes_004(settings: Settings, directory: str) -> Iterator[Task]:
    from dataclasses import asdict

    from studies.paper_004_diabetes import cells

    yield Task("paper_004_diabetes:oracle_cell", {"directory": directory})
    for cell in cells(directory, settings["repeats"], settings["histograms"]):
        yield Task("paper_004_diabetes:cell", asdict(cell))


PAPERS: Final = (
    Paper(
        "000", "summaries", "Differentially private posterior summaries for linear regression coefficients",
        "Amitai and Reiter", "Journal of Privacy and Confidentiality 8 (1), 2018",
        "noise that is too small for the guarantee: the scales printed as (2.10) and (2.13)",
        (Study("figures", "figures, figure 1, figure 2, figure 3, figure 4, figure 5, figure 6, section 5",
               "posterior probabilities from parts of simulated tables, as printed, with valid noise, and corrected",
               _figures_000, {"runs": 4000}, {"runs": 1000}, ("1 min", "4 min"), together=3),),
        {"paper-000-prior.png": "Box plots of reported probabilities against b, without noise",
         "paper-000-errors.png": "Mean absolute error against the number of parts"}),
    Paper(
        "001", "microdata", "Bayesian inference of differentially private datasets in linear regression models",
        "Jiang", "MSc thesis, University of Alberta, 2021",
        "a \"sensitivity\" of 3.92·1.5 that bounds nothing; and, at small ε, chains that have not moved from the truth",
        (Study("tables", "tables, table 4.1, table 4.2",
               "errors of posterior means from rows with Laplace noise: the thesis', and "
               "that of declared bounds", _tables_001,
               {"versions": ("thesis", "declared", "unknown"), "more": True, "repeats": 500, "warmup": 600, "draws": 500,
                "thin": 6},
               {"versions": ("thesis", "declared"), "more": False, "repeats": 20, "warmup": 300, "draws": 250, "thin": 3},
               ("4 min", "hours; minutes on a GPU"), together=7),
         Study("chains", "chains, algorithm 6", "the thesis' own sampler from two starts", _sampler_001,
               {"repeats": 500, "starts": ("truth", "zero")}, {"repeats": 20, "starts": ("truth",)}, ("2 min", "an hour"),
               together=7),
         Study("comparators", "comparators, simex", "SIMEX and least squares on the same rows", _comparators_001,
               {"repeats": 500}, {"repeats": 20}, ("1 min", "10 min"), together=50),
         Study("mixing", "mixing", "effective draws for each sweep and second", _mixing_001, {"repeats": 5}, {"repeats": 1},
               ("1 min", "4 min"), together=8))),
    Paper(
        "002", "distributed", "Differentially private distributed Bayesian linear regression with MCMC",
        "Alparslan, Yıldırım and Birbil", "ICML, PMLR 202, 2023",
        "the noise of the authors' code, about 0.4 times what ε = 1 needs; for normalX, chains started as the code starts them",
        (Study("table-1", "table 1, table 2", "prediction error on three real tables, at the authors' and at the correct noise",
               _table_002, {"runs": 50, "iterations": 10_000, "methods": None},
               {"runs": 50, "iterations": 1000, "methods": ("fast", "adassp", "fixed-s")}, ("5 min", "3 hours"),
               ("power_plant_energy.csv.gz", "bike_sharing.csv.gz", "air_quality.csv.gz"), together=27),
         Study("figure-2", "figure 2, figure 4", "error and distance to the posterior without privacy against ε, simulated",
               _figure_2_002, {"runs": 50, "iterations": 10_000, "methods": None, "holders": (10, 5, 1)},
               {"runs": 20, "iterations": 1000, "methods": ("normal-x", "fast", "adassp", "fixed-s", "clt-gibbs"),
                "holders": (10, 5, 1)}, ("5 min", "2 hours"), together=10),
         Study("figure-3", "figure 3", "time per iteration against d", _times_002, {"sizes": (2, 5, 10, 20), "steps": 400},
               {"sizes": (2, 5, 10), "steps": 100}, ("1 min", "4 min"))),
        {"paper-002-error-correct.png": "Estimation and prediction error against ε, correct noise",
         "paper-002-error-theirs.png": "Estimation and prediction error against ε, the authors' noise",
         "paper-002-mmd-correct.png": "MMD² against ε, correct noise",
         "paper-002-mmd-theirs.png": "MMD² against ε, the authors' noise",
         "paper-002-time.png": "Time per iteration against d"}),
    Paper(
        "003", "glm", "Differentially private Bayesian inference for generalized linear models",
        "Kulkarni, Jälkö, Koskela, Kaski and Honkela", "ICML, PMLR 139, 2021", "",
        (Study("pima", "figure 3", "posteriors of a logistic regression on 758 rows", _table_003("pima"),
               {"releases": 10, "draws": 300, "ways": None}, {"releases": 10, "draws": 300, "ways": ("divided", "shortened")},
               ("2 min", "10 min"), ("pima.csv.gz",)),
         Study("adult", "figure 4", "the same on 8000 rows", _table_003("adult"),
               {"releases": 5, "draws": 300, "ways": None}, {"releases": 5, "draws": 300, "ways": ("divided", "shortened")},
               ("2 min", "15 min"), ("adult.csv.gz",)),
         Study("synthetic", "figure 5", "distances against ε, one simulated table", _synthetic_003,
               {"releases": 20, "draws": 300}, {"releases": 10, "draws": 300}, ("1 min", "5 min")),
         Study("growth", "section 5", "coefficients of growing norm, with the Taylor series and without", _growth_003,
               {"tables": 12, "norms": (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0), "draws": 300, "methods": None},
               {"tables": 6, "norms": (1.0, 3.0, 6.0), "draws": 100, "methods": ("Taylor", "quadrature")},
               ("2 min", "15 min"))),
        {"paper-003-pima.png": "Posterior distribution functions, Pima",
         "paper-003-adult.png": "Posterior distribution functions, Adult",
         "paper-003-synthetic.png": "Distances against ε, synthetic rows",
         "paper-003-taylor.png": "Estimated norm and coverage against the true norm"}),
    Paper(
        "004", "model-uncertainty", "Differentially private methods for managing model uncertainty in linear regression models",
        "Peña and Barrientos", "arXiv, 2021", "",
        (Study("example-1", "example 1, section 3, figure 1, figure 2", "tests by parts of a table of 200 pupils", _example_004,
               {"splits": 5000, "tables": 20_000, "releases": 500}, {"splits": 1000, "tables": 2000, "releases": 50},
               ("1 min", "4 min"), ("hsb2.csv.gz",), together=5),
         Study("simulation", "figure 3, section 4.1.1", "model averaging from noisy moments, simulated", _simulation_004,
               {"parts": {"zellner-siow": 12, "bic": 1}, "replicates": 5}, {"parts": {"zellner-siow": 8}, "replicates": 1},
               ("1 min", "20 min"), together=5),
         Study("histogram", "section 4.1.1 histograms", "hLM and hWM on simulated tables", _histogram_004,
               {"replicates": 6}, {"replicates": 0}, ("not run", "hours")),
         Study("diabetes", "figure 4, section 4.1.2", "model averaging from noisy moments of 73,800 patients", _diabetes_004,
               {"repeats": 250, "histograms": 5}, {"repeats": 20, "histograms": 0}, ("1 min", "an hour"),
               ("strack_73800.csv.gz",), together=26)),
        {"paper-004-mse.png": "Mean square error against the number of active predictors",
         "paper-004-distance.png": "Distance to the inclusion probabilities without privacy",
         "paper-004-relative.png": "Relative gain of averaging",
         "paper-004-diabetes.png": "Inclusion probabilities, diabetes study",
         "paper-004-tests.png": "Censored likelihood ratios and critical values"}),
)


def paper_of(name: str) -> Paper | None:
    """By number ("002", "2") or by name."""
    wanted = name.lower()
    number = wanted.zfill(3) if wanted.isdecimal() else wanted
    return next((paper for paper in PAPERS if number in (paper.number, paper.name)), None)
