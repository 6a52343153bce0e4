"""Misprinted mechanisms are flagged, and the same ones with enough noise are not. The noise is simulated, with seeds."""

from __future__ import annotations

import numpy as np
import pytest
from studies.audit import PIECES, requests
from studies.audit_misprints import OUTPUT, other_library, run, variants

from noisewise.audits.trial import draw_many, judge

CONFIDENCE = 1 - 1e-6


def test_what_has_too_little_noise_is_flagged_and_nothing_else() -> None:
    lines = run(6000, library=False)
    assert {(line["source"], line["what"], line["epsilon"]) for line in lines if line["flagged"]} == {
        (line["source"], line["what"], line["epsilon"]) for line in lines if line["too_little"]}
    assert {line["source"] for line in lines if line["flagged"]} == {"paper 000", "paper 002", "paper 004"}
    for line in lines:
        assert line["flagged"] == (max(line["epsilon_any"], line["epsilon_law"]) > line["epsilon"])


def test_with_the_noise_that_they_need_none_is_flagged() -> None:
    assert not any(line["flagged"] for line in run(2000, controls=True, confidence=CONFIDENCE))


def test_the_other_library_is_flagged_if_it_is_installed() -> None:
    pytest.importorskip("diffprivlib", exc_type=ImportError)
    random = np.random.default_rng(4)
    subject = other_library(random)
    assert subject is not None
    finding = judge(subject, draw_many(subject, 400, random), 1e-6)
    assert finding.flagged and finding.epsilon_any > 2


def test_every_variant_says_how_much_noise_it_needs() -> None:
    for variant in variants():
        assert (variant.size < variant.needed * (1 - 1e-9)) == variant.too_little


def test_the_pieces_of_the_page_are_made_from_the_files() -> None:
    results = OUTPUT.parent
    for name, piece in PIECES.items():
        assert all(piece(results)), name
    assert len(PIECES["released"](results)) > len(requests()) - 6
