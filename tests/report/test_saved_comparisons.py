"""A comparison of models comes back from its file to the last bit; its averaged draws are a posterior's; damage is one error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.made_for_reports import made_comparison, made_fit, made_release
from tests.unit.results.test_store import array_bytes, document_change, rewritten

from noisewise import Comparison, Posterior
from noisewise.errors import ResultError
from noisewise.results.store import load_result

ARRAYS = ("members", "probabilities", "log_bayes_factors", "samples")


def full(**changes: Any) -> Comparison:
    release = made_release()
    other = made_comparison(release, without_noise=None, probabilities=np.array([0.4, 0.3, 0.2, 0.1]), complete=False)
    verdicts = ({"term": "age", "noise-aware": 0.8, "ridge": 0.7, "difference": 0.1, "verdict": "unclear: no conclusion"},)
    return made_comparison(release, **{"others": {"ridge": other}, "verdicts": verdicts, "notes": ("é",), **changes})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    full().save(tmp_path / "models.npz")
    return tmp_path / "models.npz"


def test_everything_comes_back(path: Path) -> None:
    made, back = full(), Comparison.load(path)
    for one, other in ((made, back), (made.others["ridge"], back.others["ridge"])):
        for name in ARRAYS:
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
        assert (one.question, one.info, one.complete, one.notes) == (other.question, other.info, other.complete, other.notes)
    assert back.without_noise is not None and made.without_noise is not None
    assert back.without_noise.tobytes() == made.without_noise.tobytes() and back.others["ridge"].without_noise is None
    assert back.verdicts == made.verdicts and list(back.others) == ["ridge"]
    assert back.design.to_dict() == made.design.to_dict() and repr(back) == repr(made)
    assert back.agreement().equals(made.agreement())


def test_the_averaged_draws_are_a_posterior(path: Path) -> None:
    averaged = Posterior.load(path)
    assert averaged.info.method == "model-averaging"
    assert averaged.samples.tobytes() == full().posterior().samples.tobytes()


def test_each_file_is_read_as_what_it_is(path: Path, tmp_path: Path) -> None:
    made_fit(made_release()).save(tmp_path / "fit.npz")
    assert isinstance(load_result(path), Comparison) and isinstance(load_result(tmp_path / "fit.npz"), Posterior)
    with pytest.raises(ResultError, match="does not hold a comparison"):
        Comparison.load(tmp_path / "fit.npz")


def damaged(members: dict[str, bytes], damage: dict[str, bytes | None]) -> None:
    """Members that are replaced, added or, if None, taken away."""
    members.update({name: content for name, content in damage.items() if content is not None})
    for name, content in damage.items():
        if content is None:
            del members[name]


@pytest.mark.parametrize("damage", [
    {"members.npy": None}, {"other1_samples.npy": None}, {"other1_metadata.npy": b"x"},
    {"probabilities.npy": array_bytes(np.ones(4))}, {"probabilities.npy": array_bytes(np.full(4, np.nan))},
    {"members.npy": array_bytes(np.ones((4, 3), dtype=bool))}, {"without_noise.npy": array_bytes(np.ones(3))},
    {"otherx_samples.npy": array_bytes(np.ones(3))},
])
def test_a_damaged_file_is_one_clear_error(path: Path, damage: dict[str, bytes | None]) -> None:
    rewritten(path, lambda members: damaged(members, damage))
    with pytest.raises(ResultError, match="is not a posterior saved by noisewise|damaged"):
        Comparison.load(path)


@pytest.mark.parametrize("stored", [None, 7, {}, {"question": {}}, {"others": [{}]}])
def test_metadata_of_another_shape_is_one_clear_error(path: Path, stored: object) -> None:
    rewritten(path, document_change(comparison=stored))
    with pytest.raises(ResultError):
        Comparison.load(path)
