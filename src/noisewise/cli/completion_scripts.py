"""What a shell runs when the tab key is pressed, and where that is put.

Typer's script for zsh answers the first tab of a session with nothing, and its script for fish starts the program twice for every
tab. These do not, and say nothing of their own between the words that are being typed. The other shells get Typer's.
"""

from __future__ import annotations

import sys
from typing import Final

import typer
from typer.completion import completion_init, get_completion_script, install  # type: ignore[attr-defined]

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


def show_completion(context: typer.Context, wanted: bool) -> None:
    """Print the script of the shell that has started the program."""
    if wanted and not context.resilient_parsing:  # else the tab key was pressed after it
        typer.echo(_script(_shell()).rstrip("\n"))
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


def _script(shell: str) -> str:
    return OURS.get(shell) or get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell)


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
