"""Shell completion: the words offered for the tab key, the shell scripts that ask for them, and their installation.

The shell waits for the answer, so this module imports nothing heavy. It repeats names that the library defines; a test compares
the two. Where we offer nothing, the shell completes file names.

Typer's zsh script does nothing on the first tab of a session, and its fish script starts the program twice per tab. For these
two shells we use our own scripts, which also keep stray output away from the line being typed; for the others, Typer's.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeAlias

import typer
from typer.completion import completion_init, get_completion_script, install  # type: ignore[attr-defined]

Completer: TypeAlias = Callable[[str], list[str]]

MECHANISMS: Final = ("gaussian", "laplace")
PARTITION_MECHANISMS: Final = ("gaussian", "k-norm")
LITERATURE_MECHANISMS: Final = ("wishart", "wishart-paper")
ADJACENCIES: Final = ("replace-one", "add-remove")
RULES: Final = ("gaussian", "basic", "planned")
FAMILIES: Final = ("gaussian", "logistic", "probit", "poisson", "negative-binomial")
SUM_FAMILIES: Final = ("bernoulli", "poisson", "exponential", "normal")
LITERATURE: Final = "from the literature, for comparison"
FIT_METHODS: Final = ("conditional", "conditional-flat", "collapsed", "laplace", "rows", "rounds")
LITERATURE_METHODS: Final = ("normal-x", "normal-x-nuts", "fixed-s", "fast", "clt-gibbs", "adassp", "simex", "naive")
SELECTION_METHODS: Final = ("noise-aware",)
LITERATURE_SELECTION: Final = ("ridge", "thresholded", "histogram")
SUM_METHODS: Final = ("exact", "gibbs", "naive")
SITES: Final = ("random", "random-intercept")
ALTERNATIVES: Final = ("two-sided", "less", "greater")

LARGEST_FILE: Final = 2**24
"""Largest release file, in bytes, that completion reads."""


PROGRAM: Final = "noisewise"
VARIABLE: Final = "_NOISEWISE_COMPLETE"
KNOWN: Final = ("bash", "zsh", "fish", "powershell", "pwsh")

ZSH: Final = """\
#compdef noisewise

_noisewise() {
  eval $(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _NOISEWISE_COMPLETE=complete_zsh noisewise 2>/dev/null)
}

if [[ $funcstack[1] == _noisewise ]]; then
  _noisewise "$@"  # loaded by the first tab, which needs an answer
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

completion_init()  # registers the completion protocols of all shells


def one_of(names: Iterable[str]) -> Completer:
    """Return a completer that offers the names starting with what was typed."""
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


def formula_words(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the last name in a formula from the columns of the release files before it; leave files to the shell."""
    if "~" not in incomplete:
        return []
    start = re.findall(r"\w*$", incomplete)[0]
    return [incomplete.removesuffix(start) + name for name in released_columns(context, start)]


def released_columns(context: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of the release files named so far."""
    return [name for name in _columns(context) if name.startswith(incomplete)]


def _columns(context: typer.Context) -> list[str]:
    """Return plain names only, so that a hostile file cannot hand the shell anything it could execute."""
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
    """Return all arguments so far. The line is incomplete, so the last file may have been parsed as the formula."""
    values: list[object] = [*context.args]
    for name in ("files", "formula"):
        given = context.params.get(name)
        values += given if isinstance(given, list | tuple) else [given]
    return [Path(str(value)) for value in values if value is not None]


def show_completion(context: typer.Context, wanted: bool) -> None:
    """Print the completion script for the current shell."""
    if wanted and not context.resilient_parsing:  # resilient parsing means the tab key was pressed after this option
        shell = _shell()
        script = OURS.get(shell) or get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell)
        typer.echo(script.rstrip("\n"))
        raise typer.Exit


def install_completion(context: typer.Context, wanted: bool) -> None:
    """Install the completion script for the current shell."""
    if wanted and not context.resilient_parsing:
        try:
            shell, path = install(shell=_shell(), prog_name=PROGRAM, complete_var=VARIABLE)
            if shell in OURS:
                path.write_text(OURS[shell], encoding="utf-8")
        except OSError as error:
            print(f"Error: the shell's start-up files must be writable\n  found:   {error.strerror}: {error.filename}\n"
                  "  remedy:  print the script with noisewise --show-completion and install it yourself", file=sys.stderr)
            raise typer.Exit(1) from None
        typer.echo(f"Installed completion for {shell} in {path}. Open a new shell to use it.")
        raise typer.Exit


def _shell() -> str:
    """Return the name of the current shell."""
    import shellingham  # type: ignore[import-untyped]

    try:
        name = str(shellingham.detect_shell()[0])
    except shellingham.ShellDetectionFailure:
        name = "none"
    if name not in KNOWN:
        print(f"Error: completion supports {', '.join(KNOWN[:-1])}\n  found:   {name}\n"
              "  remedy:  run this at the prompt of one of these shells", file=sys.stderr)
        raise typer.Exit(1)
    return name
