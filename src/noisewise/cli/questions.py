"""Questions of a partition release on the command line: a small ``name key=value`` syntax, and TOML files.

    posterior-probability of=x at=0,1 combine=stouffer limit=1.5
    bayes-factor of="x - z, w" prior=zellner-siow limits=-4.6,4.6

Quote a value that contains blanks. Names may contain commas and signs within brackets, as ``poly(x, 2)`` does.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from noisewise.cli.named_numbers import as_number
from noisewise.cli.output import visible
from noisewise.errors import DeclarationError

if TYPE_CHECKING:
    from noisewise.schema.questions import Question

Reader: TypeAlias = Callable[[str, str], object]
EXAMPLE: Final = 'for example "posterior-probability of=age at=0"'
ALIASES: Final[Mapping[str, str]] = {"hypothesis-probability": "bayes-factor"}
"""Other names of questions. The answer to a Bayes factor includes the probability of the hypothesis."""
PRIOR_NUMBERS: Final = ("g", "scale", "shape", "rate")
NEEDED: Final = {"of": "of=NAME, the coefficient in question",
                 "at": "at=0, or another value of interest; at=0,1 for two"}


def read_questions(asked: Sequence[str] | None) -> list[Question]:
    """Return the questions of all ``--ask`` options, including those in files."""
    found: list[Question] = []
    for text in asked or ():
        found += _from_file(Path(text)) if text.endswith(".toml") and "=" not in text else [read_question(text)]
    return found


def read_question(text: str) -> Question:
    """Parse one question.

    >>> read_question('bayes-factor of="x - z, w" prior=hyper-g').numbers()[0][0]
    'log Bayes factor of x - z, w'
    """
    from noisewise.schema.questions import ASKS, question_from_dict

    name, given = _words(text, "a question", EXAMPLE)
    ask = ALIASES.get(name, name)
    if ask not in ASKS:
        raise _refusal("a question must begin with the name of its kind", text, known=(*ASKS, *ALIASES), remedy=EXAMPLE)
    readers = _readers(ask)
    for key, value in given.items():
        if key not in readers:
            raise _refusal(f"not valid in a question of kind {ask}", f"{key}={value}", known=[f"{known}=" for known in readers])
    for key, remedy in NEEDED.items():
        if key in readers and key not in given:
            raise _refusal(f"a question of kind {ask} requires {key}=", text, remedy=f"add {remedy}")
    return question_from_dict({"ask": ask, **{key: readers[key](key, value) for key, value in given.items()}})


def question_text(question: Question) -> str:
    """Write a question, leaving out defaults.

    >>> question_text(read_question("posterior-probability of='x - z' at=0,1"))
    'posterior-probability of="x - z" at=0,1'
    """
    from noisewise.schema.questions import contrast, written

    declared = question.to_dict()
    for key in [key for key in declared if key not in ("ask", "of", "at")]:
        fewer = {name: value for name, value in declared.items() if name != key}
        declared = fewer if _says(fewer, question) else declared
    many = declared["of"] if isinstance(declared["of"], list) else [declared["of"]]
    texts = {**declared, "of": ", ".join(written(contrast(one)) for one in many)}
    return " ".join([texts.pop("ask"), *(f"{key}={_quoted(_text(value))}" for key, value in texts.items())])


def _says(declared: dict[str, object], question: Question) -> bool:
    from noisewise.schema.questions import question_from_dict

    try:
        return question_from_dict(declared) == question
    except DeclarationError:  # the limits are not valid with the default of another key
        return False


def read_prior(text: str | None) -> dict[str, str | float] | None:
    """Parse a prior for the parts' coefficients, such as ``zellner g=10000``.

    >>> read_prior("zellner g=1e4")
    {'name': 'zellner', 'g': 10000.0}
    """
    if text is None:
        return None
    name, given = _words(text, "a prior", "for example flat, or \"zellner g=10000\"")
    for key, value in given.items():
        if key not in PRIOR_NUMBERS:
            raise _refusal("not a parameter of any prior", f"{key}={value}",
                           remedy="zellner takes g; normal-inverse-gamma takes scale, shape and rate; flat takes none")
    return {"name": name, **{key: _number(key, value) for key, value in given.items()}}


def _refusal(rule: str, found: str, **more: Any) -> DeclarationError:
    return DeclarationError(rule, found=visible(found)[:200] or "nothing", **more)


def _words(text: str, what: str, example: str) -> tuple[str, dict[str, str]]:
    """Split a text into its first word and the values that follow, by key."""
    try:
        words = shlex.split(text)
    except ValueError:
        raise _refusal(f"{what} has an unclosed quotation mark", text, remedy="close it or remove it") from None
    if not words or "=" in words[0]:
        raise _refusal(f"{what} must begin with its name", text, remedy=example)
    given: dict[str, str] = {}
    for word in words[1:]:
        key, _, value = word.partition("=")
        key = key.replace("-", "_")
        if not value.strip():
            raise _refusal(f"{what} must be a name followed by key=value words", word,
                           remedy=f"remove blanks around = and commas, or quote the value; {example}")
        if key in given:
            raise _refusal(f"{what} must give each key once", word, remedy=f"give {key}= once")
        given[key] = value
    return words[0], given


def _readers(ask: str) -> Mapping[str, Reader]:
    special: dict[str, dict[str, Reader]] = {
        "posterior-probability": {"of": _one, "at": _numbers, "combine": _word, "limit": _number},
        "posterior-quantile": {"of": _one, "bounds": _numbers, "centre_share": _number, "width_share": _number},
        "bayes-factor": {"of": _several, "prior": _word, "limits": _numbers},
    }
    return special.get(ask, {"of": _several, "limits": _numbers})


def _several(key: str, value: str) -> list[str]:
    """Split at commas outside brackets."""
    found = [text.strip() for text in re.split(r",(?![^()]*\))(?![^\][]*\])", value)]
    if not all(found):
        raise _refusal("coefficients must be separated by commas", f"{key}={value}", remedy="for example of=age,ward")
    return found


def _one(key: str, value: str) -> str:
    found = _several(key, value)
    if len(found) > 1:
        raise _refusal("this question takes one coefficient or one combination", f"{key}={value}",
                       remedy="ask about each separately, or about their difference: of=\"a - b\"")
    return found[0]


def _word(_: str, value: str) -> str:
    return value


def _number(key: str, value: str) -> float:
    number = as_number(value)
    if number is None:
        raise _refusal(f"{key} must be a number", f"{key}={value}", remedy=f"for example {key}=1.5")
    return number


def _numbers(key: str, value: str) -> list[float]:
    return [_number(key, one.strip()) for one in value.split(",")]


def _text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _quoted(text: str) -> str:
    """Use double quotes where needed; in a shell the whole question is in single quotes."""
    if not re.search(r"[\s\"'\\]", text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _from_file(file: Path) -> list[Question]:
    from noisewise.schema.questions import question_from_dict
    from noisewise.schema.toml import read_toml

    declared = read_toml(file, "file of questions", "check the path")
    many = declared.get("questions")
    if set(declared) != {"questions"} or not isinstance(many, list) or not many:
        raise DeclarationError("a file of questions must contain [[questions]] tables only",
                               found=f"{file}: {visible(', '.join(declared))[:200] or 'nothing'}",
                               remedy="start each question with [[questions]], and below it write for example "
                               "ask = \"posterior-probability\", of = \"age\", at = [0]")
    return [question_from_dict(one) for one in many]
