"""How much one privacy unit can change a statistic. One module per kind of release, each with its proofs beside it."""

from __future__ import annotations

from noisewise.privacy.sensitivity.averaged import averaged_sensitivity
from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity

__all__ = ["GramSensitivity", "averaged_sensitivity", "gram_sensitivity"]
