"""How much one privacy unit can change a statistic. One module per kind of release, each with its proofs beside it."""

from __future__ import annotations

from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity

__all__ = ["GramSensitivity", "gram_sensitivity"]
