"""How it would be fitted: the test looks at what arrives here."""

from __future__ import annotations

from dataclasses import dataclass

from noisewise.posterior.asked import Asked


@dataclass(frozen=True)
class Fitted:
    asked: Asked

    def warn_if_bad(self, stacklevel: int) -> None:
        """There is nothing to warn of."""


def fit(asked: Asked) -> Fitted:
    return Fitted(asked)
