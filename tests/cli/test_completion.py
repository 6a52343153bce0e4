"""The tab key: the names are those of the library, nothing heavy is imported, and a real shell understands the answers."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import shellingham
from tests.cli.command_line import one_error

from noisewise.answers.hypothesis_test import ALTERNATIVES
from noisewise.cli import completion
from noisewise.posterior.methods import LITERATURE, METHODS
from noisewise.posterior.sums.families import FAMILIES as SUM_FAMILIES
from noisewise.posterior.sums.fit import METHODS as SUM_METHODS
from noisewise.privacy.accounting import RULES
from noisewise.privacy.mechanisms.gram import LITERATURE as LITERATURE_MECHANISMS
from noisewise.privacy.mechanisms.gram import MECHANISMS
from noisewise.privacy.mechanisms.partition import MECHANISMS as PARTITION_MECHANISMS
from noisewise.results.families import RESULT_FAMILIES
from noisewise.selection.methods import METHODS as SELECTION_METHODS

HEAVY = ("jax", "numpy", "pandas", "pyarrow", "matplotlib", "opendp", "scipy", "formulaic")
REPORT = f"import atexit, sys; atexit.register(lambda: print(sorted(set(sys.modules) & set({HEAVY})), file=sys.stderr))"


def completed(process, words: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """What bash would be answered with the cursor behind the last word."""
    place = str(len(words.split(" ")) - 1)
    return process(before=before, _NOISEWISE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=place)


def test_the_names_are_those_of_the_library() -> None:
    assert set(completion.PARTITION_MECHANISMS) == set(PARTITION_MECHANISMS)
    assert (*completion.MECHANISMS, *completion.LITERATURE_MECHANISMS) == MECHANISMS
    assert completion.LITERATURE_MECHANISMS == LITERATURE_MECHANISMS
    assert completion.RULES == RULES and completion.ALTERNATIVES == ALTERNATIVES
    for own, papers, methods in ((completion.FIT_METHODS, completion.LITERATURE_METHODS, METHODS),
                                 (completion.SELECTION_METHODS, completion.LITERATURE_SELECTION, SELECTION_METHODS)):
        assert (*own, *papers) == tuple(methods) and papers == tuple(name for name, one in methods.items() if one.literature)
    assert completion.SUM_METHODS == tuple(SUM_METHODS) and completion.LITERATURE == LITERATURE
    assert completion.FAMILIES == tuple(RESULT_FAMILIES) and completion.SUM_FAMILIES == tuple(SUM_FAMILIES)


def test_commands_and_options_without_heavy_imports(process) -> None:
    finished = completed(process, "noisewise f", before=REPORT)
    assert finished.stdout.split() == ["fit"] and finished.stderr.strip() == "[]"


@pytest.mark.parametrize(("words", "offered"), [
    ("noisewise fit x.nwr --family l", ["logistic"]),
    ("noisewise release m", ["model", "moments"]),
    pytest.param("noisewise release partition x.parquet --par", ["--parts"], marks=pytest.mark.slow),
    pytest.param("noisewise release x.parquet --mechanism wish", ["wishart", "wishart-paper"], marks=pytest.mark.slow),
    pytest.param("noisewise ledger ver", ["verify"], marks=pytest.mark.slow),
    pytest.param("noisewise fit x.nw", [], marks=pytest.mark.slow),  # the shell completes names of files
])
def test_values(process, words: str, offered: list[str]) -> None:
    assert completed(process, words).stdout.split() == offered


def test_columns_of_a_release_but_no_name_that_a_shell_could_run(tmp_path: Path) -> None:
    file = tmp_path / "a.nwr"
    file.write_text(json.dumps({"schema": {"columns": {"age": {}, "$(rm x)": {}, "a`b`": {}, "agent": {}}}}))
    (tmp_path / "b.nwr").write_text("no JSON")

    class Context:
        args = ()
        params = {"files": (tmp_path / "b.nwr",), "formula": str(file)}  # noqa: RUF012  # the last file passes for a formula

    assert completion.formula_words(Context(), "stay ~ ag") == ["stay ~ age", "stay ~ agent"]  # type: ignore[arg-type]
    assert completion.formula_words(Context(), "stay ~ ") == ["stay ~ age", "stay ~ agent"]  # type: ignore[arg-type]
    assert completion.formula_words(Context(), "sta") == []  # type: ignore[arg-type]
    assert completion.released_columns(Context(), "age") == ["age", "agent"]  # type: ignore[arg-type]


@pytest.mark.parametrize("shell", ["zsh", pytest.param("fish", marks=pytest.mark.slow)])
def test_every_shell_has_its_script(process, shell: str) -> None:
    script = process("--show-completion", before=_as_run_by(shell)).stdout
    assert "_NOISEWISE_COMPLETE" in script and f"complete_{shell}" in script


def test_a_shell_that_is_not_known_is_named(nw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shellingham, "detect_shell", lambda: ("tcsh", "tcsh"))
    message = one_error(nw("--install-completion"))
    assert message.startswith("Error: ") and "bash, zsh, fish" in message and "tcsh" in message


def _as_run_by(shell: str) -> str:
    return f"import shellingham; shellingham.detect_shell = lambda *_: ({shell!r}, {shell!r})"


def program_in(folder: Path) -> Path:
    program = folder / "noisewise"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from noisewise.cli.program import main; main()' \"$@\"\n")
    program.chmod(0o755)
    return program


def installed(nw, shell: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Completion is installed into a home folder; what a shell needs around it to find it there."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(shellingham, "detect_shell", lambda: (shell, shell))
    assert nw("--install-completion").exit_code == 0
    program_in(home)
    unwanted = ("ZDOTDIR", "FPATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    return {**{name: value for name, value in os.environ.items() if name not in unwanted}, "TERM": "dumb",
            "PATH": f"{home}:{os.environ['PATH']}"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_itself(process, release: Path, tmp_path: Path) -> None:
    """The script is loaded by bash, which then completes a formula and a command."""
    script = tmp_path / "noisewise.bash"
    script.write_text(process("--show-completion", before=_as_run_by("bash")).stdout)
    program = program_in(tmp_path)
    asked = f"""
source {script}
complete_it() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _noisewise_completion "$1"; printf '%s\\n' "${{COMPREPLY[@]}}"; }}
complete_it {program} comp
complete_it {program} fit {release} '"stay ~ a'
"""
    found = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True, timeout=600,
                           env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert found.stdout.splitlines() == ["compare", "stay ~ age"], found.stderr


@pytest.mark.parametrize("option", ["--install-completion", "--show-completion", "--version"])
def test_the_tab_key_behind_an_option_does_not_carry_it_out(option: str, process, tmp_path: Path) -> None:
    finished = process(before=_as_run_by("bash"), _NOISEWISE_COMPLETE="complete_bash", COMP_WORDS=f"noisewise {option} fi",
                       COMP_CWORD="2", HOME=str(tmp_path))
    assert finished.stdout.split() == ["fit"] and not list(tmp_path.iterdir())


def test_installing_writes_to_the_home_folder_only(process, tmp_path: Path) -> None:
    finished = process("--install-completion", before=_as_run_by("bash"), HOME=str(tmp_path))
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / ".bashrc").is_file() and "noisewise" in (tmp_path / ".bashrc").read_text()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_itself_answers_the_first_tab(nw, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    around = installed(nw, "zsh", tmp_path, monkeypatch)
    with (tmp_path / ".zshrc").open("a") as file:
        file.write("PS1='ready> '\n")
    ours, theirs = os.openpty()
    shell = subprocess.Popen(["zsh", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, cwd=tmp_path,
                             env=around)
    os.close(theirs)
    try:
        shown = _until(ours, "ready> ")
        os.write(ours, f"noisewise fit {release.name} 'stay ~ a\t".encode())
        shown += _until(ours, "stay ~ age")
    finally:
        shell.kill()
        shell.wait(timeout=600)
        os.close(ours)
    assert "stay ~ age" in shown, shown


def _until(terminal: int, words: str, seconds: float = 600) -> str:
    """What a terminal shows until these words appear, or the time is over."""
    shown, end = "", time.monotonic() + seconds
    while words not in shown and (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            shown += os.read(terminal, 65_536).decode(errors="replace")
    return shown


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_itself(nw, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer of the program, and names of files where it offers nothing."""
    around = installed(nw, "fish", tmp_path, monkeypatch)

    def offered(line: str) -> list[str]:
        done = subprocess.run(["fish", "-c", f"complete -C {shlex.quote(line)}"], capture_output=True, text=True, timeout=600,
                              cwd=tmp_path, env=around)
        return [answer.split("\t")[0] for answer in done.stdout.splitlines()]

    assert offered(f'noisewise fit {release.name} "stay ~ a') == ["stay ~ age"]
    assert offered("noisewise fit pati") == [release.name]
