"""False alarms and power of the predictive check with the default method, short: ``python -m studies.check_false_alarms``."""

from __future__ import annotations

import pytest
from studies.check_false_alarms import MISFITS, SETTINGS, Cell, printed, run_cell

REPLICATES = 20
# With a level of 1 % per study, 3 or more of 20 that name anything have probability 1e-3; of 600 p-values of single statistics
# 5 % are below 0.05, and more than 10 % with probability 1e-6 even if only half of them are independent.


@pytest.mark.slow
def test_it_is_silent_where_the_model_holds_and_speaks_where_it_does_not() -> None:
    setting = SETTINGS[1]
    lines = {misfit: run_cell(Cell(*setting, misfit, REPLICATES))[0] for misfit in MISFITS}
    assert lines["none"]["named"] <= 2 / REPLICATES
    assert 0.01 < lines["none"]["single_0.05"] < 0.1
    for misfit in list(MISFITS)[1:]:
        assert lines[misfit]["named"] > 0.7, misfit
    assert lines["left out"]["left_out_0.01"] > 0.7 > lines["slope"]["left_out_0.01"]
    text = printed([{name: str(value) for name, value in line.items()} for line in lines.values()])
    assert text.splitlines()[-1].startswith("| 10 × 10,000 | 1 | replace-one, gaussian |")
