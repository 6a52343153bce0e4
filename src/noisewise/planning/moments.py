"""How much noise each block of a release of kind moments would have, compared with kind gram."""

from __future__ import annotations

from typing import Any

from noisewise.privacy.mechanisms.gram import SymmetricMechanism
from noisewise.privacy.mechanisms.moments import MomentsMechanism
from noisewise.schema.moment_blocks import MomentBlock


def block_noise(mechanism: MomentsMechanism, gram: SymmetricMechanism) -> list[dict[str, Any]]:
    """One entry for each block; standard deviations in scaled units."""
    diagonal, off_diagonal, corner = gram.entry_sd()  # same columns, same sums; its count is public where ours is
    of_gram = {"n": corner, "x": off_diagonal, "xx": diagonal, "y": off_diagonal, "yx": off_diagonal}
    lines, sds = [], mechanism.block_sds()
    for name, weight in mechanism.sensitivity.weights.items():
        block, other = MomentBlock.named(name), of_gram.get(name)
        lines.append({"block": name, "meaning": block.describe(), "numbers": block.size(mechanism.sensitivity.predictors),
                      "weight": weight, "noise_sd": sds[name], "gram_noise_sd": other,
                      "relative_to_gram": sds[name] / other if other else None})
    return lines
