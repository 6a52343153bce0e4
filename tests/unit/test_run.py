"""How to run: what is refused, how many threads there are, and who hears of progress."""

from __future__ import annotations

from typing import Any

import pytest

from noisewise.errors import DataError
from noisewise.run import ALONE, DEFAULT, QUIET, Run


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
def test_threads_must_be_a_positive_number(threads: Any) -> None:
    with pytest.raises(DataError, match="threads must be a whole number of at least 1"):
        Run(threads=threads)


def test_without_a_number_there_is_a_thread_for_each_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noisewise.run.processors", lambda: 7)
    assert (DEFAULT.workers, Run(threads=3).workers, ALONE.workers) == (7, 3, 1)


def test_a_function_hears_of_the_pass_that_matters_and_of_no_other() -> None:
    told: list[tuple[int, int | None]] = []
    run = Run(threads=2, progress=lambda done, total: told.append((done, total)))
    with run.before().bar("Counting rows", "rows") as tick:
        tick(1, 2)
    with run.bar("Reading rows", "rows") as tick:
        tick(2, 2)
    assert told == [(2, 2)] and run.before() == Run(threads=2, progress=False)


@pytest.mark.parametrize("run", [DEFAULT, QUIET, Run(progress=True)])
def test_what_is_no_function_is_shown_before_as_well(run: Run) -> None:
    assert run.before() is run
