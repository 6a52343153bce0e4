"""What the shell offers when the tab key is pressed, what it runs to ask for it, and where that is put.

Nothing heavy is imported for it: the shell waits. So the names are written down here once more; a test compares them with the
library's. Where nothing is offered the shell completes the names of files.

Typer's script for zsh answers the first tab of a session with nothing, and its script for fish starts the program twice for every
tab. Ours do not, and say nothing of their own between the words that are being typed. The other shells get Typer's.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeAlias

import typer
from typer.completion import completion_init, get_completion_script, install  # type: ignore[attr-defined]

Completer: TypeAlias = Callable[[str], list[str]]

MECHANISMS: Final = ("gaussian", "laplace")
PARTITION_MECHANISMS: Final = ("gaussian", "k-norm")
LITERATURE_MECHANISMS: Final = ("wishart", "wishart-paper")
ADJACENCIES: Final = ("replace-one", "add-remove")
RULES: Final = ("gaussian", "basic", "planned")
FAMILIES: Final = ("gaussian", "logistic", "probit", "poisson")
SUM_FAMILIES: Final = ("bernoulli", "poisson", "exponential", "normal")
LITERATURE: Final = "from the literature, for comparison"
FIT_METHODS: Final = ("conditional", "conditional-flat", "collapsed", "laplace", "rows")
LITERATURE_METHODS: Final = ("normal-x", "normal-x-nuts", "fixed-s", "fast", "clt-gibbs", "adassp", "simex", "naive")
SELECTION_METHODS: Final = ("noise-aware",)
LITERATURE_SELECTION: Final = ("ridge", "thresholded", "histogram")
SUM_METHODS: Final = ("exact", "gibbs", "naive")
SITES: Final = ("random", "random-intercept")
ALTERNATIVES: Final = ("two-sided", "less", "greater")

LARGEST_FILE: Final = 2**24
"""Bytes of a release file that is read while someone waits for the tab key."""


PROGRAM: Final = "noisewise"
VARIABLE: Final = "_NOISEWISE_COMPLETE"
KNOWN: Final = ("bash", "zsh", "fish", "powershell", "pwsh")

ZSH: Final = """\
#compdef noisewise

_noisewise() {
  eval $(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _NOISEWISE_COMPLETE=complete_zsh noisewise 2>/dev/null)
}

if [[ $funcstack[1] == _noisewise ]]; then
  _noisewise "$@"  # loaded by the first tab, which wants its answer
else
  compdef _noisewise noisewise
fi
"""

FISH: Final = """\
function __noisewise_offers
    set --local offers (env _NOISEWISE_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args \\
        _TYPER_COMPLETE_ARGS=(commandline --cut-at-cursor --current-process | string collect) noisewise 2>/dev/null)
    if test -n "$offers"
        printf '%s\\n' $offers
    else
        __fish_complete_path (commandline --cut-at-cursor --current-token)
    end
end

complete --command noisewise --no-files --arguments '(__noisewise_offers)'
"""

OURS: Final = {"zsh": ZSH, "fish": FISH}

completion_init()  # lets the program answer all of them


def one_of(names: Iterable[str]) -> Completer:
    """Offers those that begin like what is typed."""
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


def formula_words(context: typer.Context, incomplete: str) -> list[str]:
    """A formula with its last name completed, by the columns of the release files before it; files are left to the shell."""
    if "~" not in incomplete:
        return []
    start = re.findall(r"\w*$", incomplete)[0]
    return [incomplete.removesuffix(start) + name for name in released_columns(context, start)]


def released_columns(context: typer.Context, incomplete: str) -> list[str]:
    """The columns of the release files that are named already."""
    return [name for name in _columns(context) if name.startswith(incomplete)]


def _columns(context: typer.Context) -> list[str]:
    """Plain names only: a file from elsewhere must not put anything before a shell that it could run."""
    found: dict[str, None] = {}
    for file in _given(context):
        try:
            if file.suffix == ".nwr" and file.is_file() and file.stat().st_size <= LARGEST_FILE:
                names = json.loads(file.read_text(encoding="utf-8"))["schema"]["columns"]
                found |= dict.fromkeys(name for name in names if isinstance(name, str) and name.isidentifier() and name.isascii())
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            continue
    return list(found)


def _given(context: typer.Context) -> list[Path]:
    """All arguments so far. The shell's line is not complete, so that the last file may pass for the formula."""
    values: list[Any] = [*context.args]
    for name in ("files", "formula"):
        given = context.params.get(name)
        values += given if isinstance(given, list | tuple) else [given]
    return [Path(str(value)) for value in values if value is not None]


def show_completion(context: typer.Context, wanted: bool) -> None:
    """Print the script of the shell that has started the program."""
    if wanted and not context.resilient_parsing:  # else the tab key was pressed after it
        shell = _shell()
        script = OURS.get(shell) or get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell)
        typer.echo(script.rstrip("\n"))
        raise typer.Exit


def install_completion(context: typer.Context, wanted: bool) -> None:
    """Put the script where the shell that has started the program looks for it."""
    if wanted and not context.resilient_parsing:
        try:
            shell, path = install(shell=_shell(), prog_name=PROGRAM, complete_var=VARIABLE)
            if shell in OURS:
                path.write_text(OURS[shell], encoding="utf-8")
        except OSError as error:
            print(f"Error: the start-up files of the shell must be writable\n  found:   {error.strerror}: {error.filename}\n"
                  "  remedy:  noisewise --show-completion prints the script; put it where your shell looks", file=sys.stderr)
            raise typer.Exit(1) from None
        typer.echo(f"Completion for {shell} was installed in {path}. It takes effect in a new shell.")
        raise typer.Exit


def _shell() -> str:
    """The name of the shell around."""
    import shellingham  # type: ignore[import-untyped]

    try:
        name = str(shellingham.detect_shell()[0])
    except shellingham.ShellDetectionFailure:
        name = "none"
    if name not in KNOWN:
        print(f"Error: completion is for {', '.join(KNOWN[:-1])}\n  found:   {name}\n"
              "  remedy:  run this in one of these shells, at its prompt", file=sys.stderr)
        raise typer.Exit(1)
    return name
