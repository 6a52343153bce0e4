"""Programs that outlive the process: found again, never trusted when damaged, never needed."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noisewise.posterior.kernels import stored_program
from noisewise.posterior.kernels.jax_setup import double_precision

pytest.importorskip("flatbuffers")

ARGUMENTS = (np.arange(3.0), {"shift": np.array(1.5)})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NOISEWISE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(stored_program, "_loaded", {})
    return tmp_path / "programs"


@pytest.fixture(autouse=True)
def in_double_precision() -> Iterator[None]:
    with double_precision():
        yield


class Built:
    """Builds a program, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Any:
        import jax

        self.times += 1
        return jax.jit(lambda x, data: jax.numpy.cumsum(x) + data["shift"])


def run(build: Built, arguments: Any = ARGUMENTS, name: str = "sums") -> list[float]:
    return list(map(float, stored_program.stored_program(name, build, arguments)(*arguments)))


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a new process remembers."""
    monkeypatch.setattr(stored_program, "_loaded", {})


def test_a_new_process_finds_what_the_first_one_stored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Built()
    assert run(build) == run(build) == [1.5, 2.5, 4.5]
    assert (build.times, len(list(folder.iterdir()))) == (1, 1)
    forget(monkeypatch)
    assert run(build) == [1.5, 2.5, 4.5]
    assert build.times == 1


@pytest.mark.parametrize("other", [
    {"arguments": (np.arange(4.0), {"shift": np.array(1.5)})},
    {"arguments": (np.arange(3), {"shift": np.array(1.5)})},
    {"name": "other sums"},
])
def test_other_shapes_types_and_names_are_other_programs(other: dict[str, Any], folder: Path) -> None:
    build = Built()
    run(build)
    run(build, **other)
    assert (build.times, len(list(folder.iterdir()))) == (2, 2)


def test_other_sources_or_versions_are_other_programs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Built()
    run(build)
    monkeypatch.setattr(stored_program, "source_digest", lambda modules: "another digest")
    run(build)
    monkeypatch.setattr(stored_program, "_versions", lambda: ("0", "0", "0", "0"))
    run(build)
    assert (build.times, len(list(folder.iterdir()))) == (3, 3)


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped"])
def test_a_damaged_file_is_replaced(damage: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Built()
    run(build)
    [path] = folder.iterdir()
    content = path.read_bytes()
    flipped = content[:-1] + bytes([content[-1] ^ 1])
    path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "flipped": flipped}[damage])
    forget(monkeypatch)
    assert run(build) == [1.5, 2.5, 4.5]
    assert build.times == 2
    assert path.read_bytes()[:32] != b"" and len(list(folder.iterdir())) == 1
    forget(monkeypatch)
    run(build)
    assert build.times == 2


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("in the way")
    monkeypatch.setenv("NOISEWISE_CACHE_DIR", os.fspath(blocked))
    forget(monkeypatch)
    assert run(Built()) == [1.5, 2.5, 4.5]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small package in place of noisewise, as if it were older than this process."""
    files = {
        "posterior/density.py": "from noisewise.posterior.helper import f\nfrom noisewise.errors import NoisewiseError\n",
        "posterior/helper.py": "def f():\n    try:\n        from noisewise.literature import late\n    except OSError: pass\n",
        "literature/late.py": "import noisewise.posterior.density\nif TYPE_CHECKING:\n    import noisewise.posterior.typed\n"
                              "match f:\n    case 1:\n        import noisewise.posterior.chosen\n",
        "posterior/typed.py": "", "posterior/chosen.py": "", "errors.py": "",
        "posterior/unrelated.py": "import noisewise.posterior.density\n",
    }
    root = tmp_path / "package"
    for name, text in files.items():
        root.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        root.joinpath(name).write_text(text)
    monkeypatch.setattr(stored_program, "PACKAGE", root)
    monkeypatch.setattr(stored_program, "IMPORTED", time.time() + 3600)
    forget_sources()
    yield root
    forget_sources()


def forget_sources() -> None:
    stored_program._source.cache_clear()
    stored_program.source_digest.cache_clear()


def digest(*modules: str) -> str | None:
    return stored_program.source_digest(frozenset(f"noisewise.{module}" for module in modules))


@pytest.mark.parametrize(("edited", "changes"), [
    ("posterior/density.py", True), ("posterior/helper.py", True), ("literature/late.py", True),
    ("posterior/chosen.py", True), ("posterior/unrelated.py", False), ("posterior/typed.py", False), ("errors.py", False),
])
def test_an_edit_changes_the_key_only_where_the_module_is_imported(edited: str, changes: bool, package: Path) -> None:
    before = digest("posterior.density")
    package.joinpath(edited).write_text(package.joinpath(edited).read_text() + "# edited\n")
    assert digest("posterior.density") == before  # each file is read once
    forget_sources()
    after = digest("posterior.density")
    assert after is not None
    assert (after != before) == changes


def test_the_key_depends_on_the_sampler_too(package: Path) -> None:
    assert digest("posterior.density") != digest("posterior.density", "posterior.unrelated")


def modules_behind(*modules: str) -> set[str]:
    forget_sources()
    digest(*modules)
    return {path.stem for room in stored_program.ROOMS for path in (stored_program.PACKAGE / room).rglob("*.py")
            if _was_read(path)}


def _was_read(path: Path) -> bool:
    name = ".".join(["noisewise", *path.relative_to(stored_program.PACKAGE).with_suffix("").parts])
    before = stored_program._source.cache_info().hits
    stored_program._source(name)
    return stored_program._source.cache_info().hits > before


def test_the_digest_covers_the_sources_of_a_likelihood_and_of_its_sampler() -> None:
    assert {"collapsed", "clt_density", "diagonal_nuts", "nuts"} <= modules_behind("posterior.linear.collapsed")
    assert {"families", "expectations", "columns", "prior", "small_linear"} <= modules_behind("posterior.glm.densities")
    assert {"normal_x", "fixed_moments", "normal_features", "metropolis"} <= modules_behind("literature.normal_x")
    assert {"clt_gibbs", "clt_gibbs_chain", "clt_conditional"} <= modules_behind("literature.clt_gibbs")
    densities = modules_behind("posterior.linear.densities", "posterior.kernels.nuts")
    assert {"densities", "nuts", "mode"} <= densities
    assert not {"conditional", "collapsed", "families", "sampler", "clt_gibbs"} & densities


@pytest.mark.parametrize(("module", "stored"), [
    ("noisewise.posterior.linear.latent", True), ("noisewise.literature.normal_x_nuts", True),
    ("noisewise.planning.power", False),
    ("someone.posterior.density", False),
])
def test_only_programs_of_these_rooms_are_stored(folder: Path, module: str, stored: bool) -> None:
    def density(x: Any, data: Any, xp: Any) -> Any:
        return -0.5 * xp.sum(x**2)

    density.__module__ = module
    program = stored_program.program_of(density, "a sum", Built(), ARGUMENTS)
    assert list(map(float, program(*ARGUMENTS))) == [1.5, 2.5, 4.5]
    assert folder.exists() == stored


def test_a_file_that_jax_does_not_understand_is_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Built()
    run(build)
    [path] = folder.iterdir()
    path.write_bytes(hashlib.sha256(b"abc").digest() + b"abc")
    forget(monkeypatch)
    assert run(build) == [1.5, 2.5, 4.5] and build.times == 2


def test_a_failed_write_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert run(Built()) == [1.5, 2.5, 4.5]
    assert not folder.exists() or not list(folder.iterdir())


def test_sources_that_are_edited_after_import_do_not_lend_their_name_to_old_programs(package: Path, folder: Path) -> None:
    """The running code may not be what the file says now: nothing is stored under its digest."""
    os.utime(package / "posterior/helper.py", (stored_program.IMPORTED + 1, stored_program.IMPORTED + 1))
    check_nothing_is_stored(folder)


def test_without_its_source_a_program_is_built_and_not_stored(package: Path, folder: Path) -> None:
    package.joinpath("posterior/density.py").unlink()
    check_nothing_is_stored(folder)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no time of change")
def test_a_copy_that_keeps_the_time_of_modification_counts_as_an_edit(
        package: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_program, "IMPORTED", time.time() - 3600)
    for path in package.rglob("*.py"):
        os.utime(path, (0, 0))
    check_nothing_is_stored(folder)


def check_nothing_is_stored(folder: Path) -> None:
    assert digest("posterior.density") is None
    program = stored_program.stored_program("sums", Built(), ARGUMENTS, "noisewise.posterior.density")
    assert list(map(float, program(*ARGUMENTS))) == [1.5, 2.5, 4.5]
    assert not folder.exists()
