"""The page about adassp names every field that its files add, and its limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.golden.make_adassp_1_1 import expected

from noisewise.privacy.smallest_eigenvalue import LARGEST_SIZE
from noisewise.release import AdasspPart
from noisewise.release.adassp_fields import AdasspPartFields, AdasspReleaseFields, SmallestEigenvalueFields
from noisewise.release.fields import GramPartFields, ReleaseFields

PAGE = (Path(__file__).parents[3] / "docs" / "adassp.md").read_text(encoding="utf-8")
GOLDEN = Path(__file__).parents[2] / "golden" / "adassp-1.1.nwr"


def test_every_field_is_on_the_page() -> None:
    own = (set(AdasspReleaseFields.model_fields) - set(ReleaseFields.model_fields)) | (
        set(AdasspPartFields.model_fields) - set(GramPartFields.model_fields)
    )
    assert own == {"formula", "moments", "smallest_eigenvalue"}
    for name in (own - {"smallest_eigenvalue"}) | set(SmallestEigenvalueFields.model_fields):
        assert f"`{name}`" in PAGE or f".{name}`" in PAGE, name
    assert f"at most {LARGEST_SIZE} columns" in PAGE


def test_a_reader_that_knows_only_the_page_finds_the_numbers() -> None:
    import json

    document = json.loads(GOLDEN.read_text(encoding="utf-8"))
    predictors = len(document["columns"]) - 1
    for found, part in zip(document["parts"], expected().parts, strict=True):
        assert isinstance(part, AdasspPart)
        matrix = np.zeros((predictors, predictors))
        matrix[np.triu_indices(predictors)] = found["statistic"]
        assert np.array_equal(np.triu(part.matrix), matrix)
        assert found["moments"] == part.moments.tolist()
        assert found["smallest_eigenvalue"]["noise"] == part.smallest_eigenvalue.noise
