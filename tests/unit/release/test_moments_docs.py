"""The page about moments names every field that its files add, its limits are those of the code, and its reader reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.golden.make_moments_1_3 import expected

from noisewise.errors import DeclarationError
from noisewise.release import MomentsPart
from noisewise.release.fields import GramPartFields, ReleaseFields
from noisewise.release.moments_fields import BlockFields, MomentsPartFields, MomentsReleaseFields
from noisewise.schema.moment_blocks import DEFAULT_BLOCKS, MomentBlock, check_size

PAGE = (Path(__file__).parents[3] / "docs" / "moments.md").read_text(encoding="utf-8")
GOLDEN = Path(__file__).parents[2] / "golden" / "moments-1.3.nwr"


def test_every_field_is_on_the_page() -> None:
    own = (set(MomentsReleaseFields.model_fields) - set(ReleaseFields.model_fields)) | (
        set(MomentsPartFields.model_fields) - set(GramPartFields.model_fields)
    )
    assert own == {"formula", "blocks"}
    for name in own | set(BlockFields.model_fields):
        assert f"`{name}`" in PAGE or f".{name}`" in PAGE, name


def test_the_weights_of_the_page_are_the_default() -> None:
    table = re.findall(r"^\| `(\w+)` \| Σ[^|]*\| ([\d.]+) \|$", PAGE, flags=re.MULTILINE)
    assert {name: float(weight) for name, weight in table} == dict(DEFAULT_BLOCKS)


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    stated = dict(re.findall(r"`(x+)` (?:needs )?at most (\d+)", PAGE))
    assert set(stated) == {"xx", "xxxx", "xxxxxx"}
    for name, most in stated.items():
        check_size(MomentBlock.named(name), int(most))
        with pytest.raises(DeclarationError):
            check_size(MomentBlock.named(name), int(most) + 1)


def test_a_reader_that_knows_only_the_page_finds_the_numbers() -> None:
    source = next(code for code in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL) if "def blocks" in code)
    names: dict[str, Any] = {"np": np}
    exec(source[: source.index("\nfor name")], names)
    for found, part in zip(names["blocks"](GOLDEN), expected().parts, strict=True):
        assert isinstance(part, MomentsPart) and list(found) == list(part.blocks)
        for name, (monomials, sums, sds) in found.items():
            assert np.array_equal(sums, part.blocks[name].sums) and len(monomials) == len(sums)
            coefficients = MomentBlock.named(name).multiplicities(part.predictors)
            assert np.allclose(sds, part.blocks[name].noise / np.sqrt(coefficients), rtol=1e-14)
        assert np.allclose(found["xx"][2] ** 2, part.variances[1:-1, 1:-1][np.triu_indices(part.predictors)])
