"""Whatever is fitted records what it was fitted to: the same digest by every way, another one for another release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.releases.source import source_of

SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
    "stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}, "visits": {"bounds": [0, 20]}}})


def table(seed: int, count: int = 20_000) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    age = random.uniform(18, 98, count)
    return {"age": age, "stay": 4 + 0.1 * age + random.normal(0, 2, count), "visits": random.poisson(3.0, count)}


@pytest.fixture(scope="module")
def sites() -> list[nw.Release]:
    return [nw.release(table(seed), SCHEMA, epsilon=5, delta=1e-6) for seed in (1, 2)]


def test_fits_and_comparisons_of_several_holders(sites: list[nw.Release], tmp_path: Path) -> None:
    together = source_of(nw.combine(sites))
    assert nw.fit("stay ~ age", sites, method="laplace", seed=1).info.source == together
    assert nw.fit("stay ~ age", sites[::-1], method="laplace", seed=1).info.source == together
    assert nw.fit_sum("visits", sites, family="poisson", seed=1).info.source == together
    found = nw.compare("stay ~ age + visits", sites, method=["noise-aware", "ridge"], draws=50, seed=1)
    assert {one.info.source for one in (found, *found.others.values(), found.posterior())} == {together}
    found.save(tmp_path / "models.npz")
    back = nw.Comparison.load(tmp_path / "models.npz")
    assert {one.info.source for one in (back, *back.others.values(), nw.Posterior.load(tmp_path / "models.npz"))} == {together}


@pytest.mark.slow
def test_each_of_many_fits_has_its_own(sites: list[nw.Release]) -> None:
    found = nw.fit_many("stay ~ age", [sites[0], sites[1], sites], method="conditional-flat", draws=100, chains=2, seed=1)
    assert [one.info.source for one in found] == [source_of(sites[0]), source_of(sites[1]), source_of(nw.combine(sites))]
    assert len({one.info.source for one in found}) == 3


@pytest.mark.filterwarnings("ignore::noisewise.errors.NoisewiseWarning")
def test_other_kinds_of_release(tmp_path: Path) -> None:
    adassp = nw.release(table(1), SCHEMA, nw.AdaSSP("stay ~ age"), epsilon=5, delta=1e-6)
    assert isinstance(adassp, nw.Release)
    assert nw.fit("stay ~ age", adassp, method="adassp").info.source == source_of(adassp)
    smokers = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"smoker": {"levels": ["no", "yes"]}}})
    binary = nw.release({"smoker": ["no", "yes"] * 500}, smokers, nw.Binary("smoker", rows=200), epsilon=1.0)
    assert nw.fit_binary(binary, seed=1).info.source == source_of(binary)


def test_the_digest_is_kept_and_not_shown(sites: list[nw.Release], tmp_path: Path) -> None:
    post = nw.fit("stay ~ age", sites[0], method="laplace", seed=1)
    post.save(tmp_path / "fit.npz")
    back = nw.Posterior.load(tmp_path / "fit.npz")
    assert back.info == post.info and len(back.info.source) == 64
    for words in (repr(post), repr(post.info), post._repr_html_()):
        assert post.info.source not in words
