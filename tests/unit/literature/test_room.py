"""The papers' own methods: registered by name, found when they are asked for, listed apart, and imported by nobody before."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

import noisewise as nw
from noisewise.errors import FitError
from noisewise.posterior.methods import LITERATURE, METHODS, Method, by_name, from_the_literature, method_for, methods_for
from noisewise.posterior.sums.fit import METHODS as SUM_METHODS
from noisewise.privacy.mechanisms.gram import LITERATURE as MECHANISMS
from noisewise.selection.methods import METHODS as SELECTION_METHODS

PAGE = Path(__file__).parents[3] / "docs" / "literature.md"
EVERY = [*METHODS.values(), *SUM_METHODS.values(), *SELECTION_METHODS.values()]


@pytest.mark.parametrize("method", EVERY, ids=lambda method: f"{method.name}-{method.kind}")
def test_a_method_is_of_the_literature_if_it_lives_there(method: Method) -> None:
    function: Any = resolve_name(method.function) if isinstance(method.function, str) else method.function
    assert callable(function) and function.__module__.startswith("noisewise.literature.") == method.literature
    assert method.about and isinstance(method.function, str) == method.literature


def test_made_up_rows_are_of_methods_that_take_moments_for_exact() -> None:
    found = {name: method.moments for name, method in SELECTION_METHODS.items() if method.moments}
    assert set(found) == {"ridge", "thresholded"} and all(callable(resolve_name(place)) for place in found.values())


def test_the_page_names_every_method_and_mechanism() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in (*(method.name for method in EVERY if method.literature), *MECHANISMS):
        assert f"`{name}`" in page or f'"{name}"' in page, name


def test_the_room_is_entered_when_a_method_is_asked_for() -> None:
    program = ("import sys, noisewise; from noisewise.posterior.methods import METHODS\n"
               "def entered(): return any(name.startswith('noisewise.literature') for name in sys.modules)\n"
               "before = entered()\n"
               "try: METHODS['fast'](None)\nexcept AttributeError: pass\n"
               "print(before, entered())")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.split() == ["False", "True"]


def test_the_names_of_the_literature_are_listed_apart() -> None:
    own, paper = Method("own", "-", len), Method("paper", "-", "builtins:len")
    assert paper.literature and not own.literature
    assert from_the_literature(by_name([paper, own])) == f"of these, paper comes {LITERATURE}"
    assert from_the_literature(by_name([own])) is None
    assert own("abc") == paper("abc") == 3


@pytest.mark.parametrize(("ask", "own", "paper"), [
    (lambda: method_for("magic", "gram"), "laplace", "clt-gibbs"),
    (lambda: nw.compare("y ~ x", [], method="magic"), "noise-aware", "thresholded"),
    (lambda: nw.compare_methods("y ~ x", [], "magic"), "laplace", "clt-gibbs"),
    (lambda: nw.fit_sum("x", [], family="poisson", method="magic"), "exact", "gibbs"),
])
def test_messages_show_both_groups(ask: Any, own: str, paper: str) -> None:
    with pytest.raises(FitError, match="unknown method") as refused:
        ask()
    told = re.fullmatch(f"of these, (.*) comes? {LITERATURE}", refused.value.remedy or "")
    assert told
    papers = told[1].split(", ")
    assert {own, paper} <= set(refused.value.known or ()) and paper in papers and own not in papers
    assert set(papers) < set(refused.value.known or ()) and LITERATURE in str(refused.value)


def test_a_kind_of_release_has_its_own_methods() -> None:
    assert list(methods_for("adassp")) == ["adassp"] and list(methods_for("rows")) == ["rows", "simex", "naive"]
    assert method_for("conditional", "rows").name == "rows" and method_for("simex", "rows").name == "simex"
    for name, kind, words in (("simex", "gram", "simex needs a release of kind rows"),
                              ("conditional", "adassp", "supports only the method adassp"),
                              ("fast", "rows", "supports only the methods rows, simex, naive"),
                              ("conditional", "moments", "no sum of squares of its response")):
        with pytest.raises(FitError, match=words):
            method_for(name, kind)
