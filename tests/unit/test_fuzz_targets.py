"""The targets of the fuzzer by themselves: what they begin from is read or refused as promised, and a finding is noticed."""

from __future__ import annotations

import json
import random

import pytest
from fuzz import NAMES
from fuzz.targets import TARGETS, Target, attack

from noisewise.kinds import kinds


def test_every_target_has_a_name() -> None:
    assert tuple(TARGETS) == NAMES


def test_every_kind_of_release_is_begun_from() -> None:
    seeds = [json.loads(seed)["kind"]["name"] for seed in TARGETS["release"].seeds()]
    assert set(seeds) == {json.loads(seed)["name"] for seed in TARGETS["kind"].seeds()} == {kind.name for kind in kinds()}
    assert all(attack("release", seed) for seed in TARGETS["release"].seeds())


@pytest.mark.parametrize("name", NAMES)
def test_seeds_and_their_neighbours_are_read_or_refused(name: str) -> None:
    rng = random.Random(name)
    seeds = TARGETS[name].seeds()
    accepted = [attack(name, seed) for seed in seeds]
    assert any(accepted) or name == "document"
    for seed in seeds:
        for _ in range(40):
            data = bytearray(seed)
            for _ in range(rng.randint(1, 5)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            attack(name, bytes(data[:rng.randint(1, len(data))] if rng.random() < 0.3 else data))


def test_anything_but_the_promised_refusal_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(data: bytes) -> None:
        raise KeyError("not promised")

    monkeypatch.setitem(TARGETS, "schema", Target(read, TARGETS["schema"].refusal, list))
    with pytest.raises(KeyError):
        attack("schema", b"")
