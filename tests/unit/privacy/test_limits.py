"""Every limit exactly: the last value that is allowed is accepted, and the next one is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from noisewise.errors import NoisewiseError
from noisewise.planning.budget import Intended
from noisewise.privacy import calibration, cost, noise
from noisewise.privacy.ledger.entries import Total
from noisewise.privacy.mechanisms import binary, bounds, wishart
from noisewise.privacy.mechanisms.wishart import SAMPLING_SHARE, _check_wishart
from noisewise.privacy.sensitivity.averaged import averaged_sensitivity, check_group
from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity
from noisewise.privacy.sensitivity.moments import MONOMIAL_ERROR, TOLERANCE
from noisewise.privacy.sensitivity.rows import CELL_GRID, CELL_RANGE, KEEP_BITS, keep_units, response_ratio

TINY = 5e-324
NEXT = math.nextafter


def gram(**changes: Any) -> GramSensitivity:
    arguments: dict[str, Any] = {"scalars": 2, "blocks": 1, "size": 4, "radius": 1.0, "norm_clipped": True,
                                 "adjacency": "replace-one"}
    return gram_sensitivity(**{**arguments, **changes})


def codes(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


ACCEPTED: dict[str, Callable[[], object]] = {
    "scale, largest": lambda: noise.check_scale(2.0**55),
    "scale, smallest": lambda: noise.check_scale(TINY),
    "value, largest": lambda: noise.gaussian_integers(codes(2**62), 1.0),
    "value, smallest": lambda: noise.laplace_integers(codes(-(2**62)), 1.0),
    "normals, most": lambda: noise.check_normals(1, 2**22),
    "normals, fewest": lambda: noise.check_normals(3, 3),
    "cube, few numbers": lambda: noise.check_cube(TINY, 4),
    "cube, smallest": lambda: noise.check_cube(1.25, 5),
    "cube, largest": lambda: noise.check_cube(2.0**53, 3),
    "urn": lambda: noise.urn_draws(1, 1, 1),
    "urn, many draws": lambda: noise.urn_draws(1, 1, 5000),
    "response, uniform": lambda: noise.randomised_response(codes(0, 1), 2, 2**52),
    "response, nearly certain": lambda: noise.randomised_response(codes(0, 2), 3, 2**53 - 1),
    "response, no cells": lambda: noise.randomised_response(codes(), 2, 2**52),
    "epsilon, largest": lambda: calibration.check_epsilon(1e9),
    "epsilon, smallest": lambda: calibration.check_epsilon(TINY),
    "epsilon, whole": lambda: calibration.check_epsilon(np.int64(1)),
    "delta, smallest": lambda: calibration.check_delta(1e-100),
    "delta, largest": lambda: calibration.check_delta(NEXT(1.0, 0.0)),
    "sensitivity": lambda: calibration.check_sensitivity(TINY),
    "a scale as large as can be used": lambda: calibration.laplace_scale(1.0, 2.0**1000),
    "rows of a synthesis": lambda: binary.smallest_alpha(10**7, 1.0, 1),
    "one row": lambda: binary.smallest_alpha(1, 1.0, 1),
    "copies of a synthesis": lambda: binary.smallest_alpha(5 * 10**6, 1.0, 2),
    "epsilon of a synthesis": lambda: binary.smallest_alpha(10, 700.0, 1),
    "epsilon of a synthesis, of several copies": lambda: binary.smallest_alpha(10, 700.0, 3),
    "tiny epsilon of a synthesis": lambda: binary.smallest_alpha(1000, 1e-9, 1),  # the search begins close to where it ends
    "digits, fewest": lambda: bounds.candidates(1),
    "digits, most": lambda: bounds.candidates(4),
    "tail, none": lambda: bounds.checked_tail(0),
    "tail, largest": lambda: bounds.checked_tail(0.25),
    "intended, one": lambda: Intended("pure", 1.0, count=1),
    "intended, most": lambda: Intended("pure", 1.0, count=10_000),
    "group": lambda: check_group(2),
    "paper, degrees": lambda: wishart.paper_degrees(1, 1e-6, 0.5),
    "paper, most degrees": lambda: wishart.paper_degrees(2**53 - 1, 1e9, 0.5),
    "paper, just enough degrees": lambda: wishart._checked_paper_degrees(10, 1.0, math.exp(-10), 328),
    "piece": lambda: cost.Piece("approximate", (TINY, 0.0)),
    "piece, delta": lambda: cost.Piece("approximate", (1.0, NEXT(1.0, 0.0))),
    "cost": lambda: cost.Cost(TINY, 0.0, (cost.Piece("laplace", (1.0,)),)),
    "cost, delta": lambda: cost.Cost(1.0, NEXT(1.0, 0.0), (cost.Piece("gaussian", (1.0,)),)),
    "total, pure": lambda: Total(TINY, 0.0, "basic"),
    "total, whole": lambda: Total(1, 0, "basic"),
    "gram, as many columns as scalars and blocks": lambda: gram(size=4),
    "gram, nothing but the constant": lambda: gram(scalars=0, blocks=0, size=1),
    "gram, a unit of one row": lambda: gram(unit_is_row=False, max_rows=1),
    "wishart, two columns": lambda: _check_wishart(gram(scalars=1, blocks=0, size=2)),
}

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "scale": (lambda: noise.check_scale(NEXT(2.0**55, math.inf)), "give a larger epsilon or delta"),
    "scale, none": (lambda: noise.check_scale(0.0), "calibrate the noise"),
    "value": (lambda: noise.gaussian_integers(codes(2**62 + 1), 1.0), "room for noise"),
    "value, negative": (lambda: noise.gaussian_integers(codes(-(2**62) - 1), 1.0), "room for noise"),
    "normals": (lambda: noise.check_normals(1, 2**22 + 1), "at most 4194304"),
    "normals, columns count": (lambda: noise.check_normals(2, 2**21 + 1), "at most 4194304"),
    "normals, too few": (lambda: noise.check_normals(3, 2), "at least as many degrees"),
    "normals, no columns": (lambda: noise.check_normals(0, 2), "at least as many degrees"),
    "wishart without columns": (lambda: noise.wishart_integers(0, 2), "at least as many degrees"),
    "cube, too small": (lambda: noise.check_cube(NEXT(1.25, 0.0), 5), "at least 1.25"),
    "cube, too large": (lambda: noise.check_cube(NEXT(2.0**53, math.inf), 3), "64-bit grid"),
    "cube, no noise": (lambda: noise.check_cube(0.0, 1), "positive"),
    "cube, no integers": (lambda: noise.cube_integers(np.zeros(2), 1.0), "64-bit integers"),  # type: ignore[arg-type]
    "cube, integers of a refused scale": (lambda: noise.cube_integers(codes(1), 0.0), "positive"),
    "selection, no noise": (lambda: noise.noisy_max(codes(1, 2), 0.0), "positive"),
    "selection, no integers": (lambda: noise.noisy_max(np.zeros(2), 1.0), "64-bit integers"),  # type: ignore[arg-type]
    "urn, no white": (lambda: noise.urn_draws(0, 1, 1), "balls of both colours"),
    "urn, no black": (lambda: noise.urn_draws(1, 0, 1), "balls of both colours"),
    "urn, no draws": (lambda: noise.urn_draws(1, 1, 0), "number of draws"),
    "urn, too many draws": (lambda: noise.urn_draws(1, 1, 10**7 + 1), "number of draws"),
    "response, certain": (lambda: noise.randomised_response(codes(0), 2, 2**53), "below 1"),
    "response, never": (lambda: noise.randomised_response(codes(0), 2, 0), "below 1"),
    "response, rather another": (lambda: noise.randomised_response(codes(0), 2, 2**52 - 1), "one over the number of levels"),
    "response, one level": (lambda: noise.randomised_response(codes(0), 1, 2**53 - 1), "one over the number of levels"),
    "response, no level": (lambda: noise.randomised_response(codes(0, 2), 2, 2**52), "indices of levels"),
    "response, below the levels": (lambda: noise.randomised_response(codes(0, -1), 2, 2**52), "indices of levels"),
    "response, no codes": (lambda: noise.randomised_response(np.zeros(2), 2, 2**52), "64-bit"),  # type: ignore[arg-type]
    "epsilon": (lambda: calibration.check_epsilon(NEXT(1e9, math.inf)), "at most 1e\\+09"),
    "epsilon, none": (lambda: calibration.check_epsilon(0.0), "positive and finite"),
    "epsilon, yes": (lambda: calibration.check_epsilon(True), "positive and finite"),
    "delta": (lambda: calibration.check_delta(NEXT(1e-100, 0.0)), "at least 1e-100"),
    "delta, everything": (lambda: calibration.check_delta(1.0), "strictly between 0 and 1"),
    "delta, nothing": (lambda: calibration.check_delta(0.0), "strictly between 0 and 1"),
    "delta, no": (lambda: calibration.check_delta(False), "strictly between 0 and 1"),
    "delta, yes": (lambda: calibration.check_delta(True), "strictly between 0 and 1"),
    "sensitivity": (lambda: calibration.check_sensitivity(0.0), "positive and finite"),
    "a scale that nobody can use": (lambda: calibration.laplace_scale(1.0, NEXT(2.0**1000, math.inf)), "noise scale"),
    "rows of a synthesis": (lambda: binary.smallest_alpha(10**7 + 1, 1.0, 1), "at most 10000000 rows"),
    "copies of a synthesis": (lambda: binary.smallest_alpha(5 * 10**6, 1.0, 3), "at most 10000000 rows"),
    "no rows": (lambda: binary.smallest_alpha(0, 1.0, 1), "rows must be a whole number"),
    "no copies": (lambda: binary.smallest_alpha(1, 1.0, 0), "copies must be a whole number"),
    "rows, yes": (lambda: binary.smallest_alpha(True, 1.0, 1), "rows must be a whole number"),
    "rows, no whole number": (lambda: binary.smallest_alpha(2.5, 1.0, 1), "rows must be a whole number"),  # type: ignore[arg-type]
    "epsilon of a synthesis": (lambda: binary.smallest_alpha(10, NEXT(700.0, math.inf), 1), "at most 700"),
    "no epsilon of a synthesis": (lambda: binary.smallest_alpha(10, 0.0, 1), "at most 700"),
    "tiny epsilon of a synthesis": (lambda: binary.smallest_alpha(10, 1e-16, 1), "epsilon is too small"),
    "digits, none": (lambda: bounds.candidates(0), "must be from 1 to 4"),
    "digits": (lambda: bounds.candidates(5), "must be from 1 to 4"),
    "digits, yes": (lambda: bounds.candidates(True), "must be from 1 to 4"),
    "digits, no whole number": (lambda: bounds.candidates(2.0), "must be from 1 to 4"),  # type: ignore[arg-type]
    "tail": (lambda: bounds.checked_tail(NEXT(0.25, 1.0)), "between 0 and 0.25"),
    "tail, negative": (lambda: bounds.checked_tail(-TINY), "between 0 and 0.25"),
    "tail, no": (lambda: bounds.checked_tail(False), "between 0 and 0.25"),
    "tail, words": (lambda: bounds.checked_tail("0.1"), "between 0 and 0.25"),
    "intended, none": (lambda: Intended("pure", 1.0, count=0), "1 to 10000 equal releases"),
    "intended": (lambda: Intended("pure", 1.0, count=10_001), "1 to 10000 equal releases"),
    "intended, kind": (lambda: Intended("cauchy", 1.0), "kind of a planned release"),
    "intended, pure with a delta": (lambda: Intended("pure", 1.0, 1e-6), "has no delta"),
    "intended, gaussian without": (lambda: Intended("gaussian", 1.0), "has a delta"),
    "intended, epsilon": (lambda: Intended("pure", 0.0), "epsilon must be positive"),
    "intended, delta": (lambda: Intended("gaussian", 1.0, 1.0), "delta must lie"),
    "response, an epsilon without any digit": (lambda: keep_units(Fraction(1, 10**17), 2), "too small for the precision"),
    "group": (lambda: check_group(1), "average"),
    "group, yes": (lambda: check_group(True), "average"),
    "group, no whole number": (lambda: check_group(2.0), "average"),
    "paper, degrees": (lambda: wishart.paper_degrees(1, 1e-8, 0.5), "degrees of freedom"),
    "paper, most degrees": (lambda: wishart.paper_degrees(2**53, 1e9, 0.5), "degrees of freedom are out of range"),
    "paper, too few degrees": (lambda: wishart._checked_paper_degrees(10, 1.0, math.exp(-10), 329), "328; 329 are needed"),
    "piece": (lambda: cost.Piece("laplace", (0.0,)), "positive and finite"),
    "piece, infinite": (lambda: cost.Piece("laplace", (math.inf,)), "positive and finite"),
    "piece, delta": (lambda: cost.Piece("approximate", (1.0, 1.0)), "delta below 1"),
    "piece, negative delta": (lambda: cost.Piece("approximate", (1.0, -TINY)), "delta below 1"),
    "piece, numbers": (lambda: cost.Piece("gaussian", (1.0, 0.1)), "gaussian, laplace or approximate"),
    "piece, kind": (lambda: cost.Piece("cauchy", (1.0,)), "gaussian, laplace or approximate"),  # type: ignore[arg-type]
    "cost": (lambda: cost.Cost(0.0, 0.0, (cost.Piece("laplace", (1.0,)),)), "positive epsilon"),
    "cost, infinite": (lambda: cost.Cost(math.inf, 0.0, (cost.Piece("laplace", (1.0,)),)), "positive epsilon"),
    "cost, delta": (lambda: cost.Cost(1.0, 1.0, (cost.Piece("laplace", (1.0,)),)), "delta between 0 and 1"),
    "cost, negative delta": (lambda: cost.Cost(1.0, -TINY, (cost.Piece("laplace", (1.0,)),)), "delta between 0 and 1"),
    "cost, no pieces": (lambda: cost.Cost(1.0, 0.0, ()), "at least one piece"),
    "cost, gaussian and pure": (lambda: cost.Cost(1.0, 0.0, (cost.Piece("gaussian", (1.0,)),)), "pure pieces"),
    "cost, one piece that is not pure": (lambda: cost.Cost(1.0, 0.0, (cost.Piece("laplace", (1.0,)), cost.Piece(
        "approximate", (1.0, TINY)))), "pure pieces"),
    "total": (lambda: Total(0.0, 0.0, "basic"), "positive epsilon"),
    "total, infinite": (lambda: Total(math.inf, 0.0, "basic"), "positive epsilon"),
    "total, delta": (lambda: Total(1.0, 1.0, "basic"), "delta between 0 and 1"),
    "total, negative delta": (lambda: Total(1.0, -TINY, "basic"), "delta between 0 and 1"),
    "total, yes": (lambda: Total(True, 0.0, "basic"), "positive epsilon"),
    "total, delta no": (lambda: Total(1.0, False, "basic"), "positive epsilon"),
    "total, words": (lambda: Total("1", 0.0, "basic"), "positive epsilon"),  # type: ignore[arg-type]
    "total, rule": (lambda: Total(1.0, 0.0, "loose"), "rule.*gaussian, basic, planned"),  # type: ignore[arg-type]
    "gram, a column too few": (lambda: gram(size=3), "at least one column per block"),
    "gram, negative blocks": (lambda: gram(blocks=-1), "at least one column per block"),
    "gram, negative scalars": (lambda: gram(scalars=-1), "at least one column per block"),
    "gram, infinite norm": (lambda: gram(radius=math.inf), "norm_bound"),
    "gram, a unit without rows": (lambda: gram(unit_is_row=False, max_rows=0), "max_rows"),
    "gram, a row of two rows": (lambda: gram(max_rows=2), "max_rows"),
    "wishart, a unit of several rows": (lambda: _check_wishart(gram(unit_is_row=False, max_rows=2)), "a unit of at most 2 rows"),
    "wishart, averaged rows": (lambda: _check_wishart(averaged_sensitivity(
        group=2, scalars=2, blocks=1, size=4, radius=1.0, norm_clipped=True)), "another statistic"),
    "wishart, one column": (lambda: _check_wishart(gram(scalars=0, blocks=0, size=1)), "proved private only where"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_last_value_that_is_allowed_is_accepted(name: str) -> None:
    try:
        ACCEPTED[name]()
    except NoisewiseError as error:
        pytest.fail(f"refused: {error}")


@pytest.mark.parametrize("name", REFUSED)
def test_the_next_value_is_refused_in_words(name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(NoisewiseError, match=words):
        make()


@pytest.mark.parametrize(("count", "least"), [(0, 0.0), (1, 0.0), (2, 0.5), (5, 1.25), (100, 25.0)])
def test_the_smallest_cube_is_a_quarter_of_the_numbers(count: int, least: float) -> None:
    assert noise.smallest_cube(count) == least


def test_constants_of_the_proofs() -> None:
    """Numbers that a proof names and that no draw could tell from their neighbours."""
    assert (noise.COARSE_BITS, noise.NORMAL_SCALE) == (50, 2.0**54)
    assert noise.NORMAL_VARIANCE == 2 ** (2 * 50) * 2 ** (2 * 54) + (2 ** (2 * 54) - 16)  # V7
    assert calibration.LARGEST_USEFUL_DELTA == 0.999999
    assert calibration.LATTICE_VARIANCE == 16 and calibration.SIGMA_MARGIN == 1 + 2.0**-30  # C2, C3
    assert (CELL_RANGE, CELL_GRID, KEEP_BITS) == (2, 2.0**-20, 53)  # R1, R4
    assert (MONOMIAL_ERROR, TOLERANCE) == (Fraction(1, 2**19), Fraction(1, 2**32))  # M5, M2
    assert wishart.SPECIAL_FUNCTIONS == 1e-10 and wishart.NEGLIGIBLE == 1e-6 and wishart.FEWEST_EXTRA == 2  # V6, V5
    assert SAMPLING_SHARE == Fraction(1, 1024)  # V7


@pytest.mark.parametrize("copies", [1, 3])
def test_an_epsilon_that_is_met_only_to_the_last_digit_is_not_met(copies: int) -> None:
    """Logarithms are rounded: a synthesis takes one pseudo-row more rather than trust the last digit."""
    for alpha in (1, 7, 59, 1000, 123_457):
        for rows in (1, 10, 999):
            epsilon = copies * math.log1p(rows / alpha)
            assert not binary.suffices(alpha, rows, epsilon, copies) and binary.suffices(alpha + 1, rows, epsilon, copies)
            assert binary.smallest_alpha(rows, epsilon, copies) == alpha + 1
            assert binary.smallest_alpha(rows, epsilon * (1 + 1e-11), copies) == alpha
            enough = epsilon * (1 + 2.0**-40)
            assert binary.suffices(alpha, rows, enough, copies) and not binary.suffices(alpha, rows, NEXT(enough, 0.0), copies)


def test_a_level_is_kept_with_a_probability_that_stays_away_from_one() -> None:
    """From an epsilon of 36 on it does not grow: a level would soon be kept for certain."""
    assert keep_units(Fraction(36), 2) == keep_units(Fraction(37), 2) == keep_units(Fraction(10**6), 2) < 2**53
    assert keep_units(Fraction(35), 2) < keep_units(Fraction(36), 2)
    assert response_ratio(keep_units(Fraction(1), 4), 4) <= math.e < response_ratio(keep_units(Fraction(1), 4) + 1, 4)
