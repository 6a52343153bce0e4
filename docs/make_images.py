"""The pictures of the documentation: ``python docs/make_images.py [NAME ...]``, where names are those of the functions here and
in ``concept_images``.

All tables are made up. The privacy noise is real, so it is new each time, and now and then an interval misses its true value.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import concept_images
import numpy as np
from matplotlib.figure import Figure

import noisewise as nw

IMAGES = Path(__file__).parent / "images"
COLOURS = ("#d55e00", "#0072b2", "#009e73")
SCHEMA = nw.Schema.from_dict({
    "adjacency": "replace-one",
    "unit": "row",
    "columns": {"stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}},
})
TRUTH = {"Intercept": 2.0, "age": 0.1, "ward[T.B]": 3.0, "ward[T.C]": 1.0}


def patients(rows: int, seed: int) -> dict[str, Any]:
    """The made-up table of the tutorials."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 99, rows)
    ward = random.choice(["A", "B", "C"], rows, p=[0.5, 0.3, 0.2])
    stay = 2 + 0.1 * age + 3 * (ward == "B") + 1 * (ward == "C") + random.gamma(2.0, 2.0, rows) - 4
    return {"age": age, "ward": ward, "stay": stay}


def demo() -> None:
    """What ``noisewise demo`` draws."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "noisewise", "demo", "-o", folder, "--quiet"], check=True)
        (IMAGES / "demo.png").write_bytes((Path(folder) / "coefficients.png").read_bytes())


def widths() -> None:
    """The width of an interval against epsilon, for three sizes of table."""
    epsilons = np.geomspace(0.05, 20, 9)
    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    axes = figure.subplots()
    for rows, colour in zip((1_000, 10_000, 100_000), COLOURS, strict=True):
        table = patients(rows, seed=1)
        exact = nw.fit("stay ~ age + ward", nw.release(table, SCHEMA, epsilon=1e6, delta=1e-6), method="laplace", seed=1)
        shown = [np.median([_width(table, epsilon, seed) for seed in range(15)]) for epsilon in epsilons]
        axes.plot(epsilons, shown, "o-", color=colour, label=f"{rows:,} rows")
        axes.axhline(_interval(exact), color=colour, linestyle=":", linewidth=1.4)
    prior = exact.prior
    assert prior is not None
    axes.axhline(np.subtract(*reversed(prior.interval("age", 0.95))), color="#777777", linewidth=6, alpha=0.35)
    axes.annotate("prior", (17, 5.0), ha="right", va="bottom", color="#555555")
    axes.annotate("dotted: without privacy noise", (0.052, 0.0017), color="#555555", fontsize=9)
    axes.set(xscale="log", yscale="log", xlabel="ε  (more privacy ←   → less privacy)",
             ylabel="width of the 95 % interval\n(days of stay per year of age)", ylim=(0.0008, 9))
    axes.set_title("What privacy costs: the effect of age on length of stay", loc="left", fontweight="bold")
    axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="upper right", bbox_to_anchor=(1.0, 0.9))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / "width.png", dpi=150)


def _width(table: dict[str, Any], epsilon: float, seed: int) -> float:
    release = nw.release(table, SCHEMA, epsilon=float(epsilon), delta=1e-6)
    return _interval(nw.fit("stay ~ age + ward", release, method="laplace", seed=seed))


def _interval(posterior: nw.Posterior) -> float:
    row = posterior.summary().loc["age"]
    return float(row["97.5%"] - row["2.5%"])


def posterior() -> None:
    """The densities of the analyst's tutorial."""
    release = nw.release(patients(20_000, seed=1), SCHEMA, epsilon=1, delta=1e-6)
    fitted = nw.fit("stay ~ age + ward", release, seed=1)
    fitted.plot(kind="posterior", reference={"true value": TRUTH}, path=IMAGES / "posterior.png")


def sites() -> None:
    """One term from each of five sites alone, and from all of them together."""
    releases = [nw.release(patients(4_000, seed), SCHEMA, epsilon=1, delta=1e-6) for seed in range(5)]
    fits = {f"site {number}": nw.fit("stay ~ age + ward", release, method="laplace", seed=1)
            for number, release in enumerate(releases, start=1)}
    fits["all together"] = nw.fit("stay ~ age + ward", releases, method="laplace", seed=1)
    figure = Figure(figsize=(7.6, 3.2), layout="constrained")
    axes = figure.subplots()
    for place, (name, fit) in enumerate(fits.items()):
        row = fit.summary().loc["ward[T.B]"]
        colour = COLOURS[1] if name.startswith("all") else "#888888"
        axes.plot([row["2.5%"], row["97.5%"]], [place, place], color=colour, linewidth=3, solid_capstyle="butt")
        axes.plot(row["mean"], place, "o", color="white", markeredgecolor=colour, markeredgewidth=2.5, markersize=8)
    axes.axvline(TRUTH["ward[T.B]"], color=COLOURS[0], linestyle="--", label="true value")
    axes.set_yticks(range(len(fits)), list(fits))
    axes.invert_yaxis()
    axes.set_xlabel("extra days of stay in ward B: 95 % interval")
    axes.set_title("Five sites of 4,000 patients, ε = 1 each", loc="left", fontweight="bold")
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.savefig(IMAGES / "sites.png", dpi=150)


def consortium() -> None:
    """The predictive check of the consortium's tutorial: the third site counts two days more."""
    names = ["site-north.nwr", "site-east.nwr", "site-south.nwr"]
    settings = [(8_000, 1.0, 1e-6, 0.0), (5_000, 2.0, 1e-6, 0.0), (12_000, 1.0, None, 2.0)]
    releases = []
    for seed, (rows, epsilon, delta, extra) in enumerate(settings, start=1):
        table = patients(rows, seed)
        table["stay"] = table["stay"] + 4 + extra
        releases.append(nw.release(table, SCHEMA, epsilon=epsilon, delta=delta))
    fitted = nw.fit("stay ~ age + ward", releases, seed=1)
    fitted.check(releases, holders=names).plot(path=IMAGES / "consortium-check.png")


def models() -> None:
    """Both pictures of a comparison of models: two terms matter, one a little, two not at all."""
    random = np.random.default_rng(1)
    rows = 20_000
    table: dict[str, Any] = {
        "age": random.integers(18, 99, rows), "bmi": random.normal(27, 5, rows), "distance": random.exponential(20, rows),
        "sex": random.choice(["f", "m"], rows), "ward": random.choice(["A", "B", "C"], rows),
    }
    ward = 2 * (table["ward"] == "B") + (table["ward"] == "C")
    table["stay"] = 2 + 0.1 * table["age"] + 0.04 * table["bmi"] + ward + random.normal(0, 4, rows)
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}, "bmi": {"bounds": [10, 60]}, "distance": {"bounds": [0, 100]},
        "sex": {"levels": ["f", "m"]}, "ward": {"levels": ["A", "B", "C"]}}})
    found = nw.compare("stay ~ age + bmi + distance + sex + ward", nw.release(table, schema, epsilon=1, delta=1e-6), seed=1)
    found.plot(IMAGES / "inclusion.png")
    found.plot_models(IMAGES / "model-space.png")


OUTCOMES = nw.Schema.from_dict({
    "adjacency": "replace-one",
    "unit": "row",
    "columns": {"readmitted": {"levels": ["no", "yes"]}, "visits": {"bounds": [0, 10]}, "age": {"bounds": [18, 98]},
                "ward": {"levels": ["A", "B", "C"]}},
})


def outcomes(rows: int, seed: int, level: float = 0.0, spread: float = 0.0) -> dict[str, Any]:
    """The made-up table of the tutorial about outcomes and counts."""
    random = np.random.default_rng(seed)
    age = np.clip(random.normal(62, 14, rows), 18, 98)
    ward = random.choice(["A", "B", "C"], rows, p=[0.5, 0.3, 0.2])
    rate = np.exp(-0.3 + level + 0.2 * (age - 62) / 10 + 0.5 * (ward == "C"))
    if spread:
        rate = rate * random.gamma(1 / spread, spread, rows)
    readmitted = np.where(random.random(rows) < _probability(age, ward == "B", level), "yes", "no")
    return {"age": age, "ward": ward, "readmitted": readmitted, "visits": random.poisson(rate)}


def _probability(age: Any, ward_b: Any, level: float = 0.0) -> Any:
    return 1 / (1 + np.exp(1.5 - level - np.log(1.5) * (age - 62) / 10 - np.log(2) * ward_b))


def probabilities() -> None:
    """Predicted probabilities with their intervals, and the true ones."""
    release = nw.release(outcomes(20_000, seed=1), OUTCOMES, epsilon=1, delta=1e-6)
    fitted = nw.fit("readmitted ~ age + ward", release, family="logistic", seed=1)
    figure = Figure(figsize=(7.6, 4.2), layout="constrained")
    axes = figure.subplots()
    ages = np.linspace(18, 98, 81)
    for ward, colour in zip("BA", COLOURS, strict=False):
        curve = fitted.predict({"age": ages, "ward": ward})
        axes.fill_between(ages, curve["lower"], curve["upper"], color=colour, alpha=0.25, linewidth=0)
        axes.plot(ages, curve["mean"], color=colour, linewidth=2)
        axes.plot(ages, _probability(ages, ward == "B"), color="#333333", linestyle="--", linewidth=1.2)
        axes.annotate(f"ward {ward}", (98.5, curve["mean"].iloc[-1]), color=colour, va="center", annotation_clip=False)
    axes.set(xlabel="age", ylabel="probability of readmission", xlim=(18, 98), ylim=(0, None))
    axes.set_title("20,000 patients, ε = 1: 95 % intervals; dashed: the truth", loc="left", fontweight="bold")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / "glm-probability.png", dpi=150)


def counts() -> None:
    """The predictive check of a Poisson regression: one hospital has another level, one has overdispersed counts."""
    settings: list[dict[str, float]] = [{}, {"level": 0.25}, {"spread": 1.5}, {}]
    releases = [nw.release(outcomes(8_000, seed, **how), OUTCOMES, epsilon=2, delta=1e-6)
                for seed, how in enumerate(settings, start=1)]
    fitted = nw.fit("visits ~ age + ward", releases, family="poisson", seed=1)
    fitted.check(releases, holders=["north", "east", "south", "west"]).plot(path=IMAGES / "glm-check.png")


def partition() -> None:
    """Answers without bounds, and the plan that came before: the tutorial about tables without bounds, and its page."""
    random, rows = np.random.default_rng(1), 40_000
    age, school = random.normal(45, 12, rows), random.integers(8, 20, rows)
    income = 12 + 0.02 * age + 0.9 * school + random.normal(0, 14, rows)
    unknown = {"bounds": "unknown"}
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "income": unknown, "age": unknown, "school": {"bounds": [0, 25]}}})
    kind = nw.Partition("income ~ age + school", parts=1000, ask=[
        {"ask": "posterior-probability", "of": "age", "at": [0], "limit": 1.0}, {"ask": "posterior-quantile", "of": "age"}])
    made = nw.release({"income": income, "age": age, "school": school}, schema, kind, epsilon=1.0)
    nw.answer(made).plot(IMAGES / "partition-answers.png")
    nw.suggest_parts(rows=20_000, predictors=4, epsilon=2.0,
                     questions=[{"ask": "posterior-probability", "of": "x", "at": [0]},
                                {"ask": "likelihood-ratio", "of": "x"}]).plot(IMAGES / "partition-plan.png")


def planned_power() -> None:
    """The picture of the page about planning: that of its first command."""
    nw.plan_power(SCHEMA, "stay ~ age + ward", rows=[2_000, 10_000], epsilon=[1, 3, 10], delta=1e-6, sigma=4, repeats=50,
                  effects={"age": 0.05, "ward[T.B]": 1.0}, columns={"ward": {"shares": [0.5, 0.3, 0.2]}}, compare=False,
                  ).plot(IMAGES / "power-plan.png")


PICTURES = (demo, widths, posterior, sites, consortium, models, probabilities, counts, partition, planned_power,
            *concept_images.PICTURES)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for make in PICTURES:
        if not sys.argv[1:] or make.__name__ in sys.argv[1:]:
            make()
