"""Every test begins as a program does: nobody has been warned yet."""

from __future__ import annotations

import pytest

from noisewise.estimators import callers


@pytest.fixture(autouse=True)
def nobody_was_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "_warned_for", None)
