"""Questions of a partition release on the command line: a little language of ``name key=value`` words, and TOML files.

    posterior-probability of=x at=0,1 combine=stouffer limit=1.5
    bayes-factor of="x - z, w" prior=zellner-siow limits=-4.6,4.6

A value with blanks stands in quotes. Names may hold commas and signs within brackets, as ``poly(x, 2)`` does.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from noisewise.cli.release_options import PARTITION
from noisewise.cli.talk import visible
from noisewise.errors import DeclarationError

if TYPE_CHECKING:
    from noisewise.schema.questions import Question

Ask: TypeAlias = Annotated[list[str] | None, typer.Option("--ask", metavar="QUESTION", show_default=False,
                                                          rich_help_panel=PARTITION, help=(
    "A question such as \"posterior-probability of=age at=0\", \"posterior-quantile of=age\", "
    "\"bayes-factor of=age,ward\" or \"likelihood-ratio of=age\"; may be repeated."))]
QuestionFile: TypeAlias = Annotated[Path | None, typer.Option("--questions", metavar="FILE", show_default=False,
                                                           rich_help_panel=PARTITION, help=(
    "A TOML file with questions, one [\\[questions]] table each."))]

Reader: TypeAlias = Callable[[str, str], Any]
EXAMPLE: Final = 'for example "posterior-probability of=age at=0"'
ALIASES: Final[Mapping[str, str]] = {"hypothesis-probability": "bayes-factor"}
"""The answer to a Bayes factor has the probability of the hypothesis beside it."""
PRIOR_NUMBERS: Final = ("g", "scale", "shape", "rate")


def read_questions(asked: Sequence[str] | None, file: Path | None = None) -> list[Question] | None:
    """The questions of ``--ask`` and those of a file; None if there are none."""
    if not asked and file is None:
        return None
    return [*([] if file is None else _from_file(file)), *(read_question(text) for text in asked or ())]


def read_question(text: str) -> Question:
    """One question of the little language.

    >>> read_question('bayes-factor of="x - z, w" prior=hyper-g').numbers()[0][0]
    'log Bayes factor of x - z, w'
    """
    from noisewise.schema.questions import ASKS, question_from_dict

    name, given = _words(text, "a question", EXAMPLE)
    ask = ALIASES.get(name, name)
    if ask not in ASKS:
        raise DeclarationError("a question begins with what it asks", found=visible(text)[:200],
                               remedy="that is one of " + ", ".join((*ASKS, *ALIASES)) + f"; {EXAMPLE}")
    readers = _readers(ask)
    for key in given:
        if key not in readers:
            raise DeclarationError(f"a question of {ask} has other words", found=visible(f"{key}={given[key]}")[:200],
                                   remedy="they are " + ", ".join(f"{known}=" for known in readers))
    for key in ("of", "at"):
        if key in readers and key not in given:
            raise DeclarationError(f"a question of {ask} says {key}=", found=visible(text)[:200],
                                   remedy="add " + {"of": "of=NAME, the coefficient that it is about",
                                                    "at": "at=0, or whatever value is of interest; at=0,1 for two"}[key])
    return question_from_dict({"ask": ask, **{key: readers[key](key, value) for key, value in given.items()}})


def question_text(question: Question) -> str:
    """The question in the little language.

    >>> question_text(read_question("posterior-probability of='x - z' at=0,1"))
    'posterior-probability of="x - z" at=0,1'
    """
    from noisewise.schema.questions import contrast, written

    declared = _without_defaults(question)
    many = declared["of"] if isinstance(declared["of"], list) else [declared["of"]]
    texts = {**declared, "of": ", ".join(written(contrast(one)) for one in many)}
    return " ".join([texts.pop("ask"), *(f"{key}={_quoted(_text(value))}" for key, value in texts.items())])


def _without_defaults(question: Question) -> dict[str, Any]:
    """What must be said: no key whose value is what it would be anyway."""
    declared = question.to_dict()
    for key in [key for key in declared if key not in ("ask", "of", "at")]:
        fewer = {name: value for name, value in declared.items() if name != key}
        declared = fewer if _says(fewer, question) else declared
    return declared


def _says(declared: dict[str, Any], question: Question) -> bool:
    from noisewise.schema.questions import question_from_dict

    try:
        return question_from_dict(declared) == question
    except DeclarationError:  # limits that do not go with the default of something else
        return False


def read_prior(text: str | None) -> dict[str, Any] | None:
    """A prior of the parts' coefficients, such as ``zellner g=10000``.

    >>> read_prior("zellner g=1e4")
    {'name': 'zellner', 'g': 10000.0}
    """
    if text is None:
        return None
    name, given = _words(text, "a prior", "for example flat, or \"zellner g=10000\"")
    for key in given:
        if key not in PRIOR_NUMBERS:
            raise DeclarationError("a prior has other numbers", found=visible(f"{key}={given[key]}")[:200],
                                   remedy="zellner has g; normal-inverse-gamma has scale, shape and rate; flat has none")
    return {"name": name, **{key: _number(key, value) for key, value in given.items()}}


def _words(text: str, what: str, example: str) -> tuple[str, dict[str, str]]:
    """The first word, and the values of the others by their keys."""
    try:
        words = shlex.split(text)
    except ValueError:
        raise DeclarationError(f"{what} has a quotation mark that is not closed", found=visible(text)[:200],
                               remedy="close it, or leave it out") from None
    if not words or "=" in words[0]:
        raise DeclarationError(f"{what} begins with its name", found=visible(text)[:200] or "nothing", remedy=example)
    given: dict[str, str] = {}
    for word in words[1:]:
        key, sign, value = word.partition("=")
        key = key.replace("-", "_")
        if not sign or not value.strip():
            raise DeclarationError(f"{what} is a name and words of the form key=value", found=visible(word)[:200] or "nothing",
                                   remedy=f"write no blanks around = and commas, or put the value in quotes; {example}")
        if key in given:
            raise DeclarationError(f"{what} says everything once", found=visible(word)[:200], remedy=f"give {key}= once")
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
    """Texts between commas that are not within brackets."""
    found = [text.strip() for text in re.split(r",(?![^()]*\))(?![^\][]*\])", value)]
    if not all(found):
        raise DeclarationError("coefficients stand between commas", found=visible(f"{key}={value}")[:200],
                               remedy="for example of=age,ward")
    return found


def _one(key: str, value: str) -> str:
    found = _several(key, value)
    if len(found) > 1:
        raise DeclarationError("this question is about one coefficient, or one combination",
                               found=visible(f"{key}={value}")[:200],
                               remedy="ask about each by itself, or about their difference: of=\"a - b\"")
    return found[0]


def _word(_: str, value: str) -> str:
    return value


def _number(key: str, value: str) -> float:
    try:
        if not value.isascii() or "_" in value:
            raise ValueError
        return float(value)
    except ValueError:
        raise DeclarationError(f"{key} is a number", found=visible(f"{key}={value}")[:200],
                               remedy=f"for example {key}=1.5") from None


def _numbers(key: str, value: str) -> list[float]:
    return [_number(key, one.strip()) for one in value.split(",")]


def _text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _quoted(text: str) -> str:
    """In double quotes where a blank or a sign asks for it: the whole question stands in single quotes in a shell."""
    if not re.search(r"[\s\"'\\]", text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _from_file(file: Path) -> list[Question]:
    from noisewise.schema.questions import question_from_dict

    try:
        declared = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise DeclarationError("the file of questions cannot be read", found=f"{file}: {error.strerror}",
                               remedy="check the path") from error
    except UnicodeDecodeError as error:
        raise DeclarationError("a file of questions must be UTF-8 text", found=str(file),
                               remedy="save it as UTF-8") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DeclarationError("the file of questions is not valid TOML", found=f"{file}: {visible(str(error))[:200]}",
                               remedy="correct that line") from error
    many = declared.get("questions")
    if set(declared) != {"questions"} or not isinstance(many, list) or not many:
        raise DeclarationError("a file of questions has [[questions]] tables and nothing else",
                               found=f"{file}: {visible(', '.join(declared))[:200] or 'nothing'}",
                               remedy="write for each question [[questions]], and below it for example "
                               "ask = \"posterior-probability\", of = \"age\", at = [0]")
    return [question_from_dict(one) for one in many]
