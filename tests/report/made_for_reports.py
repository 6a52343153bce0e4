"""Releases and fits with known numbers and noise from a seed, so that a report of them is the same in every run."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

import noisewise
from noisewise.kinds import AdaSSP, Binary, Bounds, Gram, Kind, Model, Moments, Partition, Rows
from noisewise.releases import Release
from noisewise.releases.contents.gram import EntryNoise, GramContribution
from noisewise.reports.write import Report, report
from noisewise.results import Comparison, FitInfo, Posterior, PriorSummary
from noisewise.results.comparison import Question
from noisewise.run import QUIET
from noisewise.schema import Basis, Design, Schema
from noisewise.schema.questions import PosteriorProbability, PosteriorQuantile

DECLARED: dict[str, Any] = {
    "adjacency": "replace-one",
    "columns": {"stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]},
                "sick": {"levels": ["no", "yes"]}},
}
FORMULA = "stay ~ age + ward"
NOISE = 8.0
VOID = {"meta", "link", "br", "hr", "img", "input", "path", "line", "rect", "circle"}


def rows(seed: int = 1, count: int = 4000, effect: float = 0.1) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    age, ward = random.uniform(18, 98, count), random.choice(["A", "B", "C"], count)
    sick = np.where(random.random(count) < 1 / (1 + np.exp(3 - 0.04 * age)), "yes", "no")
    return {"age": age, "ward": ward, "sick": sick, "stay": 4 + effect * age + 3 * (ward == "B") + random.normal(0, 2, count)}


def made_release(table: dict[str, Any] | None = None, declared: dict[str, Any] | None = None, **changes: Any) -> Release:
    """A gram release of made-up rows, with noise that a seed draws: for tests alone."""
    schema = Schema.from_dict(declared or DECLARED)
    table = rows() if table is None else table
    basis = Basis.of(schema, None)
    values = basis.evaluate({name: np.asarray(table[name]) for name in schema.names})
    noise = np.triu(np.random.default_rng(len(values)).normal(0, NOISE, (basis.size, basis.size)))
    noise += np.triu(noise, 1).T
    noise[0, 0] = 0.0
    fields: dict[str, Any] = {
        "rows": len(values), "matrix": values.T @ values + noise, "noise": EntryNoise("gaussian", NOISE * np.sqrt(2), NOISE, 0.0),
        "epsilon": 1.0, "delta": 1e-6, "mechanism": "gaussian", "sensitivity": 2.5,
        "statement": "Replacing any one row changes little.", "created": "2026-11-15", "library": "noisewise 0.1.0",
    }
    return Release(Gram(), schema, (GramContribution(**{**fields, **changes}),))


KINDS: dict[str, tuple[Kind, float | None]] = {
    "gaussian": (Gram(), 1e-6),
    "laplace": (Gram(), None),
    "wishart": (Gram(mechanism="wishart"), 1e-6),
    "averaged": (Gram(average=3), 1e-6),
    "model": (Model("visits ~ age + ward", family="poisson"), 1e-6),
    "moments": (Moments("visits ~ age + ward"), 1e-6),
    "adassp": (AdaSSP("visits ~ age + ward"), 1e-6),
    "partition": (Partition("visits ~ age", parts=20, ask=[PosteriorProbability("age", at=(0.0,)), PosteriorQuantile("age")]),
                  None),
    "rows": (Rows(copies=2), 1e-6),
    "bounds": (Bounds({"age": (0, None)}), None),
    "binary": (Binary("sick", rows=40, copies=2), None),
}
"""At least one of every kind of release, and its delta."""


def real_release(name: str, folder: Path) -> Release:
    """What a data holder makes: its noise is another in each run. It is in a file of that name."""
    columns = {"visits": {"bounds": [0, 10]}, **{name: DECLARED["columns"][name] for name in ("age", "ward", "sick")}}
    kind, delta = KINDS[name]
    short = {"norm_bound": 1.2} if kind.has_columns else {}
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": columns, **short})
    table = {**{column: rows(count=600)[column] for column in ("age", "ward", "sick")}, "visits": np.arange(600) % 7.0}
    return noisewise.release(table, schema, kind, epsilon=2.0, delta=delta, to=folder / f"{name}.nwr", run=QUIET)


def made_fit(release: Release, formula: str = FORMULA, **changes: Any) -> Posterior:
    """Normal draws around the least-squares solution of the released sums: what a fit comes to where there is little noise."""
    design = Design.of(formula, release.basis, release.terms)
    gram = sum(one.matrix for one in release.contributions)
    count = float(gram[0, 0])
    inner = design.features.T @ gram @ design.features
    theta = np.linalg.solve(inner, design.features.T @ gram @ design.target)
    residual = design.target - design.features @ theta
    sigma = float(np.sqrt(residual @ gram @ residual / count))
    random = np.random.default_rng(3)
    root = np.linalg.cholesky(sigma**2 * np.linalg.inv(inner))
    draws = theta + random.standard_normal((4, 250, len(theta))) @ root.T
    sigmas = sigma + sigma / np.sqrt(2 * count) * random.standard_normal((4, 250, 1))
    gaussian = changes.get("family", "gaussian") == "gaussian"
    samples = np.concatenate([draws, sigmas], axis=2) if gaussian else draws
    info = FitInfo(**{"method": "conditional", "family": "gaussian", "formula": formula, "seed": 7, "chains": 4, "draws": 250,
                      "holders": release.holders, **changes})
    prior = PriorSummary(dict.fromkeys(design.terms, 0.0), dict.fromkeys(design.terms, 10.0), 5.0 if gaussian else None)
    return Posterior(samples, (*design.terms, *(("sigma",) if gaussian else ())), design, info, prior)


def made_comparison(release: Release, **changes: Any) -> Comparison:
    design = Design.of("stay ~ age + ward", release.basis, release.terms)
    random = np.random.default_rng(5)
    info = FitInfo("model-averaging", "gaussian", design.formula, seed=1, chains=1, draws=50, holders=release.holders)
    values: dict[str, Any] = {
        "design": design, "question": Question(("age", "ward"), ("Intercept",), "zellner-siow", "uniform", "noise-aware"),
        "members": np.array([[True, False], [True, True], [False, False], [False, True]]),
        "probabilities": np.array([0.5, 0.3, 0.15, 0.05]), "log_bayes_factors": np.array([3.0, 2.0, 0.0, -1.0]),
        "samples": random.normal(1.0, 0.1, (50, len(design.terms) + 1)), "info": info,
        "without_noise": random.beta(2, 2, (40, 2)),
    }
    return Comparison(**{**values, **changes})


def whole_report(**changes: Any) -> Report:
    """Two fits and a comparison: every section that a gram release can have."""
    release = made_release()
    fits = [made_fit(release), made_fit(release, "stay ~ age", method="laplace")]
    return report(release, **{"fits": fits, "comparisons": [made_comparison(release)], **changes})


class Reader(HTMLParser):
    """Reads a page as a list of elements and its text, and makes sure that every element is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.scripts = 0
        self.feed(html)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.scripts += tag == "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]
