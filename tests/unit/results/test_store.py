"""Saving and loading: exact, atomic, and deaf to hostile files."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from tests.unit.results import draws_with_known_answers as known

from noisewise.errors import ResultError
from noisewise.results import Posterior
from noisewise.results import store as posterior_store


def saved(folder: Path, **changes: Any) -> Path:
    path = folder / "fit.npz"
    known.posterior(known.normal_samples(draws=20), **changes).save(path)
    return path


def test_everything_comes_back_exactly(tmp_path: Path) -> None:
    samples = known.normal_samples(draws=30)
    samples[0, 0, 0] = np.nextafter(0.1, 1)
    diverging = np.zeros((4, 30), dtype=bool)
    diverging[1, 2] = True
    info = known.info(seed=None, divergences=1, holders=3, seconds=0.1 + 0.2, doubts=("é", "two"))
    post = Posterior(samples, known.TERMS, known.design(), info, known.prior(), diverging)
    post.save(tmp_path / "fit.npz")
    back = Posterior.load(tmp_path / "fit.npz")
    assert back.samples.tobytes() == post.samples.tobytes()
    assert back.terms == post.terms
    assert back.info == post.info
    assert back.prior == post.prior
    assert back.diverging is not None
    np.testing.assert_array_equal(back.diverging, diverging)
    assert back.design.to_dict() == post.design.to_dict()
    pandas.testing.assert_frame_equal(back.summary(), post.summary())
    rows = {"age": [30, 60], "ward": ["A", "C"]}
    pandas.testing.assert_frame_equal(back.predict(rows), post.predict(rows))


def test_a_posterior_without_prior_comes_back(tmp_path: Path) -> None:
    post = known.posterior(known.normal_samples(draws=5))
    Posterior(post.samples, post.terms, post.design, post.info).save(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    back = Posterior.load(tmp_path / "a")
    assert back.prior is None
    assert back.diverging is None


def test_numpy_alone_can_read_the_file(tmp_path: Path) -> None:
    with np.load(saved(tmp_path), allow_pickle=False) as archive:
        assert archive["samples"].shape == (4, 20, 5)
        assert json.loads(archive["metadata"].tobytes())["terms"] == list(known.TERMS)


def test_the_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        assert stat.S_IMODE(saved(tmp_path).stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_a_failure_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(ResultError, match="No space left"):
        known.posterior().save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["fit.npz"]


def test_places_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="cannot write"):
        known.posterior().save(tmp_path / "nowhere" / "fit.npz")
    with pytest.raises(ResultError, match="no such file"):
        Posterior.load(tmp_path / "fit.npz")
    with pytest.raises(ResultError):
        Posterior.load(tmp_path)


def rewritten(path: Path, change: Callable[[dict[str, bytes]], object], compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def array_bytes(array: Any, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), version=(1, 0), allow_pickle=allow_pickle)
    return buffer.getvalue()


def document_change(**changes: Any) -> Callable[[dict[str, bytes]], None]:
    """Change metadata; the value ... removes a key."""

    def change(members: dict[str, bytes]) -> None:
        content = np.lib.format.read_array(io.BytesIO(members["metadata.npy"])).tobytes()
        document = {**json.loads(content), **changes}
        document = {name: value for name, value in document.items() if value is not ...}
        members["metadata.npy"] = array_bytes(np.frombuffer(json.dumps(document).encode(), dtype=np.uint8))

    return change


def with_text(text: bytes) -> Callable[[dict[str, bytes]], None]:
    return lambda members: members.update({"metadata.npy": array_bytes(np.frombuffer(text, dtype=np.uint8))})


def with_samples(samples: Any, allow_pickle: bool = False) -> Callable[[dict[str, bytes]], None]:
    return lambda members: members.update({"samples.npy": array_bytes(samples, allow_pickle)})


def announcing(shape: tuple[int, ...]) -> Callable[[dict[str, bytes]], None]:
    """A header that promises more than the file holds."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return lambda members: members.update({"samples.npy": buffer.getvalue() + b"\0" * 80})


class Explosive:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.abort, ())


HOSTILE: dict[str, Callable[[dict[str, bytes]], object]] = {
    "no samples": lambda members: members.pop("samples.npy"),
    "no metadata": lambda members: members.pop("metadata.npy"),
    "another member": lambda members: members.update({"../../evil.npy": b"x"}),
    "pickled objects": with_samples(np.array([Explosive()], dtype=object), allow_pickle=True),
    "text for samples": with_samples(np.array(["a"])),
    "two dimensions": with_samples(np.zeros((4, 20))),
    "too few terms": with_samples(np.ones((4, 20, 3))),
    "no draws": with_samples(np.ones((4, 0, 5))),
    "not finite": with_samples(np.full((4, 20, 5), np.nan)),
    "huge announcement": announcing((10**6, 10**6, 5)),
    "overflowing announcement": announcing((2**62, 4, 5)),
    "negative announcement": announcing((-4, -20, 5)),
    "not an array": lambda members: members.update({"samples.npy": b"hello"}),
    "empty member": lambda members: members.update({"samples.npy": b""}),
    "code in the header": lambda members: members.update(
        {"samples.npy": b"\x93NUMPY\x01\x00\x40\x00" + b"__import__('os').abort()".ljust(64)}
    ),
    "not JSON": with_text(b"{"),
    "not UTF-8": with_text(b"\xff\xfe"),
    "deep JSON": with_text(b"[" * 200_000),
    "a list": with_text(b"[]"),
    "another format": document_change(format="other"),
    "no design": document_change(design=...),
    "design of another kind": document_change(design=[1, 2]),
    "design that is malformed": document_change(design={"formula": "stay ~ age", "schema": {}, "terms": None}),
    "design of another formula": document_change(
        design={"formula": "stay ~ age", "schema": {"unit": "row", **known.DECLARED}, "terms": None}
    ),
    "terms that are a number": document_change(terms=5),
    "terms of another model": document_change(terms=["a", "b", "c", "d", "sigma"]),
    "info without method": document_change(info={"family": "gaussian", "formula": "y ~ x"}),
    "info that is a list": document_change(info=[]),
    **{f"source that is {name}": document_change(info={**vars(known.info()), "source": source}) for name, source in {
        "a number": 7, "null": None, "a list": ["0" * 64], "too short": "0" * 63, "too long": "0" * 65, "no digest": "g" * 64,
        "in capitals": "A" * 64, "followed by a line break": "0" * 64 + "\n", "very long": "0" * 1_000_000,
    }.items()},
    "prior with a zero scale": document_change(prior={"mean": {"age": 0.0}, "sd": {"age": 0.0}, "sigma_scale": 1.0}),
    "prior that is text": document_change(prior="wide"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_give_one_error(name: str, tmp_path: Path) -> None:
    path = saved(tmp_path)
    rewritten(path, HOSTILE[name])
    with pytest.raises(ResultError):
        Posterior.load(path)


def test_the_untouched_rewriting_is_accepted(tmp_path: Path) -> None:
    """The tests above fail for their change and not for the way in which it was made."""
    path = saved(tmp_path)
    rewritten(path, document_change())
    assert Posterior.load(path).terms == known.TERMS


def test_a_compressed_member_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    rewritten(path, lambda members: None, zipfile.ZIP_DEFLATED)
    with pytest.raises(ResultError, match="compressed"):
        Posterior.load(path)


def test_a_newer_version_is_refused_with_a_remedy(tmp_path: Path) -> None:
    path = saved(tmp_path)
    rewritten(path, document_change(version=posterior_store.VERSION + 1))
    with pytest.raises(ResultError, match="update noisewise"):
        Posterior.load(path)


def test_fields_of_later_versions_are_ignored(tmp_path: Path) -> None:
    path = saved(tmp_path)
    rewritten(path, document_change(colour="blue", info={**vars(known.info()), "colour": "blue"}))
    assert Posterior.load(path).info == known.info()


def test_the_source_is_kept_and_may_be_missing(tmp_path: Path) -> None:
    path = saved(tmp_path, source="0a" * 32)
    assert Posterior.load(path).info.source == "0a" * 32
    older = {name: value for name, value in vars(known.info()).items() if name != "source"}
    rewritten(path, document_change(info=older))
    assert Posterior.load(path).info == known.info() and Posterior.load(path).info.source == ""
    rewritten(path, document_change(info={**older, "source": 7}))
    with pytest.raises(ResultError, match="info.source"):
        Posterior.load(path)


def test_truncated_files_give_one_error(tmp_path: Path) -> None:
    content = saved(tmp_path).read_bytes()
    path = tmp_path / "cut.npz"
    for length in range(0, len(content), max(1, len(content) // 60)):
        path.write_bytes(content[:length])
        with pytest.raises(ResultError):
            Posterior.load(path)


def test_flipped_bytes_give_one_error_or_valid_draws(tmp_path: Path) -> None:
    """Most flips break a checksum; one in an unused field may pass. Nothing but a ResultError may come out."""
    content = saved(tmp_path).read_bytes()
    path = tmp_path / "flipped.npz"
    generator = np.random.default_rng(1)
    refused = 0
    for place in generator.integers(0, len(content), 150):
        changed = bytearray(content)
        changed[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(bytes(changed))
        try:
            Posterior.load(path)
        except ResultError:
            refused += 1
    assert refused > 100
