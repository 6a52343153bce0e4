"""The page about the format names every field of a partition release, and its reader reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.golden.make_partition_1_4 import expected

from noisewise.release.model import FORMAT_VERSION
from noisewise.release.partition import MECHANISMS
from noisewise.release.partition_fields import NumberFields, PartitionFields, PriorFields, QuestionFields
from noisewise.schema.partition import MOST_PARTS, PRIORS
from noisewise.schema.questions import ASKS, BAYES_PRIORS, COMBINATIONS, MOST_NUMBERS

PAGE = (Path(__file__).parents[3] / "docs" / "format.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## Releases of kind partition"):PAGE.index("## Versions")]
GOLDEN = Path(__file__).parents[2] / "golden" / "partition-1.4.nwr"


def test_the_page_is_about_the_newest_version() -> None:
    assert PAGE.startswith(f"# The release file, versions 1.0 to {FORMAT_VERSION}")


@pytest.mark.parametrize("fields", [PartitionFields, PriorFields, QuestionFields, NumberFields])
def test_every_field_is_on_the_page(fields: Any) -> None:
    for name, info in fields.model_fields.items():
        assert re.search(rf"`(numbers\[\]\.)?{info.alias or name}`", SECTION), name


def test_names_and_limits_of_the_page_are_those_of_the_code() -> None:
    for name in (*MECHANISMS, *PRIORS, *COMBINATIONS, *BAYES_PRIORS):
        assert f'"{name}"' in SECTION, name
    assert all(f"`{ask}`" in SECTION for ask in ASKS)
    assert f"2 to {MOST_PARTS:,}" in SECTION and f"at most {MOST_NUMBERS}" in SECTION


def test_a_reader_that_knows_only_the_page_finds_the_numbers() -> None:
    [source] = re.findall(r"```python\n(.*?)```", SECTION, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(source, names)
    release = expected()
    found = list(names["means"](GOLDEN))
    assert [(name, mean) for name, mean, _ in found] == [(number.name, number.mean(release.parts)) for number in release.numbers]
    assert [sd for *_, sd in found] == [number.width * release.noise / release.parts for number in release.numbers]
