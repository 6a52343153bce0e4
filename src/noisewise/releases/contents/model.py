"""The contents of a `Model` release: the first look at single columns, and the rounds."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self, Unpack

import numpy as np

from noisewise.arrays import Matrix
from noisewise.kinds import Model
from noisewise.kinds.model import MOST_ROUNDS, check_response
from noisewise.releases.checks import (
    LARGEST_ENTRY,
    number_of,
    numbers_of,
    ordinary,
    plain_bytes,
    refused_as_release,
    require,
    symmetric,
)
from noisewise.releases.contribution import Contribution, StoredHead
from noisewise.releases.fields import RecordFields, items, known_part, shape, shape_of
from noisewise.releases.json_text import Triangle, short
from noisewise.releases.promises import check_gaussian
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.schema import Schema
from noisewise.scores.change import Weights, changed_square
from noisewise.scores.families import FAMILIES, Family
from noisewise.scores.looks import Layout
from noisewise.scores.rounds import Look, Noise, Point, Round

MECHANISM: Final = "gaussian"
DIGITS: Final = 1.0 - 1e-9
"""The weights of a round follow from the ratios of its noise, which are rounded."""
MARGIN: Final = 1.01
"""How much larger than its proof a stated sensitivity may be, since rows and sums are rounded."""

NUMBERS: Final[Any] = items(float)
LOOK_FIELDS: Final = shape("LookFields", noise=float, sums=NUMBERS, rows=(float | None, None),
                           rows_noise=(float | None, None))
ROUND_FIELDS: Final = shape(
    "RoundFields", coefficients=NUMBERS, coordinates=items(NUMBERS), scale=float, noise=shape_of(Noise), score=NUMBERS,
    matrix=NUMBERS, square=(float | None, None), spread=(NUMBERS, None))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ModelContribution(Contribution):
    """One holder's noisy sums: those of the first look, and those of each round. The last round is the one to fit.

    ``basis`` has the released columns: the constant, the predictors and, last, the response. A release that is still to be made
    has one round of zeros. ``sensitivity`` is the largest change of a round's sums by one unit, in units of the score: each piece
    counts with the noise of the score over its own.
    """

    FIELDS: ClassVar[type[RecordFields]] = shape("ModelFields", look=LOOK_FIELDS, rounds=items(ROUND_FIELDS))

    basis: Basis
    family: str
    look: Look
    rounds: tuple[Round, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.mechanism == MECHANISM, "the mechanism of a model release must be gaussian", short(self.mechanism),
                "a newer noisewise may know it")
        require(self.delta > 0, "gaussian noise requires delta > 0", self.delta,
                "state the delta that the noise was calibrated for")
        self._check_regression()
        object.__setattr__(self, "look", self._checked_look())
        require(isinstance(self.rounds, list | tuple) and all(isinstance(one, Round) for one in self.rounds),
                "a model release must have rounds", short(self.rounds))
        require(1 <= len(self.rounds) <= MOST_ROUNDS + 1, f"a model release has 1 to {MOST_ROUNDS + 1} rounds", len(self.rounds))
        terms = np.size(self.rounds[0].point.coefficients)
        object.__setattr__(self, "rounds", tuple(
            self._checked_round(one, terms, f"round {place}: ") for place, one in enumerate(self.rounds, start=1)))

    def _check_regression(self) -> None:
        columns = self.basis.columns
        require(self.family in FAMILIES, "the family of a model release must be known", short(self.family),
                "a newer noisewise may know it")
        require(len(columns) > 1 and not columns[0].factors and len(columns[-1].factors) == 1,
                "the columns of a model release must be the constant, the predictors and the response",
                f"{len(columns)} columns")
        with refused_as_release():
            self.basis.schema.require_bounds()
            check_response(self.basis, self.family)

    def _checked_look(self) -> Look:
        look, size = self.look, self.layout.size
        require(isinstance(look, Look), "a model release must have a first look", short(look))
        rows = number_of(look.rows, "look: rows", most=LARGEST_ENTRY)
        rows_noise = number_of(look.rows_noise, "look: rows_noise")
        require((self.rows is None) == (rows_noise != 0),
                "look: the number of rows must have noise if and only if it is not public",
                f"rows {self.rows}, noise {rows_noise!r}")
        require(self.rows is None or rows == self.rows, "look: the number of rows must be the public one",
                f"{rows!r}, public {self.rows}")
        return Look(noise=ordinary(look.noise, "look: the noise"), sums=numbers_of(look.sums, "look: the sums", size), rows=rows,
                    rows_noise=ordinary(rows_noise, "look: rows_noise") if rows_noise else 0.0)

    def _checked_round(self, one: Round, terms: int, where: str) -> Round:
        point = one.point
        predictors = self.basis.size - 1
        require(1 <= terms <= predictors, f"{where}there are at most as many coefficients as columns of the predictors, and one",
                f"{terms}, {predictors} columns")
        scale = ordinary(point.scale, f"{where}the scale")
        require(isinstance(point.spread, bool), f"{where}spread must be true or false", short(point.spread))
        coordinates = np.array(point.coordinates, dtype=float)
        require(coordinates.shape == (terms, predictors),
                f"{where}the coordinates must have a row for each coefficient and a column for each column of the predictors",
                f"shape {coordinates.shape}, {terms} coefficients of {predictors} columns")
        numbers_of(coordinates.ravel(), f"{where}the coordinates")
        coordinates.setflags(write=False)
        given = {"square": (self._regression.scaled, "the family has a scale"), "spread": (point.spread, "it is asked for")}
        for piece, (expected, rule) in given.items():
            stated = [getattr(one, piece) is not None, getattr(one.noise, piece) is not None]
            require(stated == [expected, expected], f"{where}{piece} and its noise must be there if and only if {rule}",
                    f"{piece} {'there' if stated[0] else 'missing'}, noise {'there' if stated[1] else 'missing'}")
        noise = {name: ordinary(getattr(one.noise, name), f"{where}the noise of {name}")
                 for name in ("score", "matrix", "square", "spread") if getattr(one.noise, name) is not None}
        require({"score", "matrix"} <= noise.keys(), f"{where}score and matrix must have noise", ", ".join(noise) or "none")
        return Round(
            point=Point(coefficients=numbers_of(point.coefficients, f"{where}the coefficients", terms), coordinates=coordinates,
                        scale=scale, spread=point.spread),
            noise=Noise(**noise),
            score=numbers_of(one.score, f"{where}the score", terms),
            matrix=_square_of(one.matrix, terms, f"{where}the matrix"),
            square=None if one.square is None else number_of(one.square, f"{where}the square", most=LARGEST_ENTRY),
            spread=None if one.spread is None else _square_of(one.spread, terms, f"{where}the spread"))

    @cached_property
    def layout(self) -> Layout:
        """Which sums the first look has, and where."""
        return Layout.of(self.basis, self._regression)

    @property
    def _regression(self) -> Family:
        return FAMILIES[self.family]

    @property
    def terms(self) -> int:
        """The number of coefficients."""
        return len(self.rounds[0].point.coefficients)

    @property
    def last(self) -> Round:
        """The last round, which has most of the budget."""
        return self.rounds[-1]

    # What is promised

    def check_promise(self) -> None:
        """Refuse too little noise. How far one unit can change the sums is found here again, whatever the file says of it."""
        check_gaussian(math.sqrt(sum(self.squared_distances())), self.epsilon, self.delta)

    def squared_distances(self) -> list[float]:
        """For the first look and each round: how far one unit can change it, in standard deviations, squared."""
        return [self._look_distance(), *(self._round_square(one) / one.noise.score**2 for one in self.rounds)]

    def shares(self) -> list[float]:
        """The shares of the budget that the first look and each round have."""
        found = self.squared_distances()
        return [one / sum(found) for one in found]

    def _look_distance(self) -> float:
        # Who has fewer rows than another also changes the number of rows, if that is not public.
        count = 0.0 if self.look.rows_noise == 0 else (self.look.noise / self.look.rows_noise) ** 2
        added, replaced = (self.layout.squares(self.basis.schema, one) for one in (True, False))
        return self._of_unit(added + count, replaced) / self.look.noise**2

    def _round_square(self, one: Round) -> float:
        weights = implied_weights(one.noise)
        return self._of_unit(changed_square(weights, added=True), changed_square(weights, added=False))

    def _of_unit(self, added: float, replaced: float) -> float:
        """The squared change by a unit of several rows: each is replaced, added or removed."""
        schema = self.basis.schema
        if schema.adjacency == "add-remove":
            worst = added
        else:
            worst = replaced if schema.unit.is_row else max(added, replaced)
        return worst * float(schema.unit.max_rows) ** 2

    def check(self, kind: Model, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Refuse other columns, another family, another sensitivity, or more rounds than the kind asks for."""
        require(self.basis.schema == schema and self.basis.columns == tuple(columns),
                "the sums must be those of the columns of the release", "other columns or another schema")
        require(self.family == kind.family, "the family must be the one that the kind asks for",
                f"{self.family}, asked for {kind.family}")
        most = 1 if kind.start is not None else MOST_ROUNDS + 1 if kind.rounds is None else kind.rounds + 1
        require(len(self.rounds) <= most, "there must not be more rounds than the kind asks for",
                f"{len(self.rounds)}, asked for at most {most}")
        if kind.start is not None:
            shape_of_start = kind.start.matrix().shape
            require(shape_of_start == (self.terms, self.basis.size - 1), "the start must have the coordinates of the rounds",
                    f"shapes {shape_of_start} and {(self.terms, self.basis.size - 1)}")
        self.check_sensitivity(math.sqrt(max(map(self._round_square, self.rounds))))

    def check_sensitivity(self, expected: float) -> None:
        """Refuse a smaller sensitivity than the noise implies, and one that rounding cannot explain."""
        require(expected * DIGITS <= self.sensitivity <= expected * MARGIN,
                f"the sensitivity of this release must be {expected!r}, or at most 1 % more", self.sensitivity)

    def common(self) -> dict[str, str]:
        """The family."""
        return {"family": self.family}

    # What is in a file

    @classmethod
    def from_contents(cls, contents: RecordFields, kind: Model, schema: Schema, columns: Sequence[BasisColumn],
                      **head: Unpack[StoredHead]) -> Self:
        """Build the contribution. No matrix is made before its triangle has the right length."""
        require(1 <= len(contents.rounds) <= MOST_ROUNDS + 1, f"a model release has 1 to {MOST_ROUNDS + 1} rounds",
                len(contents.rounds))
        look, public = contents.look, head["rows"]
        stated = [look.rows is not None, look.rows_noise is not None]
        require(stated == [public is None] * 2,
                "look: rows and rows_noise must be stated if and only if the number of rows is not public",
                f"rows {short(look.rows)}, rows_noise {short(look.rows_noise)}")
        return cls(basis=Basis(schema, tuple(columns)), family=kind.family,
                   look=Look(noise=look.noise, sums=np.array(look.sums),
                             rows=number_of(look.rows if public is None else public, "rows"), rows_noise=look.rows_noise or 0.0),
                   rounds=tuple(_round_from(one, f"round {place}: ") for place, one in enumerate(contents.rounds, start=1)),
                   **head)

    def contents(self) -> dict[str, object]:
        """The first look and the rounds; upper triangles of matrices, row by row."""
        look = self.look
        rows = {} if self.rows is not None else {"rows": look.rows, "rows_noise": look.rows_noise}
        return {"look": {"noise": look.noise, **rows, "sums": look.sums.tolist()},
                "rounds": [_stated(one) for one in self.rounds]}

    def fingerprint(self) -> bytes:
        """The SHA-256 digest of the noisy numbers, computed once."""
        return self._digest

    @cached_property
    def _digest(self) -> bytes:
        return hashlib.sha256(b"".join(self._noisy_bytes())).digest()

    def _noisy_bytes(self) -> Iterator[bytes]:
        yield plain_bytes(self.look.sums)
        if self.rows is None:
            yield plain_bytes(np.array([self.look.rows]))
        for one in self.rounds:
            for piece in (one.score, one.matrix, one.square, one.spread):
                if piece is not None:
                    yield plain_bytes(np.asarray(piece))

    def count(self) -> int:
        """The number of noisy numbers of all rounds; of a matrix those of its upper triangle."""
        terms = self.terms
        half = terms * (terms + 1) // 2
        rounds = sum(terms + half + (one.square is not None) + half * (one.spread is not None) for one in self.rounds)
        return len(self.look.sums) + (self.rows is None) + rounds

    # In words

    @property
    def shown_rows(self) -> str:
        """The public number of rows, or the noisy one, for a description."""
        if self.rows is not None:
            return f"{self.rows} (public)"
        return (f"about {self.look.rows:.0f}, with noise of standard deviation {self.look.rows_noise:.4g}: their number is not "
                "public")

    def rules(self, schema: Schema, columns: Sequence[BasisColumn]) -> list[str]:
        """How much a row may count for, and the limit on the rows of a unit, where there is one."""
        return ["every row: adds at most 1 to the sums of a round; it counts for less if it is far from the others or from what "
                "is expected of it", *super().rules(schema, columns)]

    def clipped_norm(self, schema: Schema, columns: Sequence[BasisColumn]) -> float | None:
        """No rows are shortened to a norm: those far from the others count for less."""
        return None

    def lines(self, kind: Model, schema: Schema) -> list[tuple[str, str]]:
        """Describe how the coefficients were found, what each round is about, and what its noise amounts to."""
        first, *rounds = self.shares()
        made = "1 round" if len(rounds) == 1 else \
            f"{_counted(len(rounds) - 1, 'round')} that looked for the coefficients, then the last one"
        began = "" if kind.start is None else ", where an earlier release ended"
        last = self.last
        more = [*(["of squared residuals"] if last.square is not None else []),
                *(["of the score's squares"] if last.spread is not None else [])]
        return [
            ("look", f"{len(self.look.sums)} sums of single columns, with {_percent(first)} of the budget; noise of standard "
                     f"deviation {self.look.noise:.4g}, {_weight(self.look.noise)}"),
            ("rounds", f"{made}{began}, with {_percent(rounds[-1])} of the budget: sums over rows of the score "
                       f"and of the information{''.join(f', and {one}' for one in more)}, for "
                       f"{_counted(self.terms, 'coefficient')}"),
            ("noise", f"{self.mechanism}; in the last round, standard deviation {last.noise.score:.4g} on each entry of the "
                      f"score, {_weight(last.noise.score)}, and {last.noise.matrix:.4g} on the diagonal of the information"),
        ]

    def own_facts(self) -> dict[str, object]:
        """The family, and for the first look and each round its share of the budget and the standard deviations of its noise."""
        first, *rounds = self.shares()
        return {
            "family": self.family,
            "look": {"share": first, "noise_sd": self.look.noise,
                     **({} if self.rows is not None else {"rows": self.look.rows, "rows_noise_sd": self.look.rows_noise})},
            "rounds": [{"share": share, "noise_sd": _noise_of(one), "coefficients": one.point.coefficients.tolist(),
                        "scale": one.point.scale} for share, one in zip(rounds, self.rounds, strict=True)],
        }


def implied_weights(noise: Noise) -> Weights:
    """The squared weights of the pieces of a round, as its noise implies them.

    >>> weights = implied_weights(Noise(score=3.0, matrix=6.0))
    >>> round(weights.matrix, 6), weights.square, weights.spread
    (0.25, 0.0, 0.0)
    """
    found = {name: 0.0 if sd is None else DIGITS * (noise.score / sd) ** 2
             for name, sd in (("matrix", noise.matrix), ("square", noise.square), ("spread", noise.spread))}
    return Weights(**found)


def _square_of(values: object, terms: int, what: str) -> Matrix:
    found = symmetric(values, what)
    require(len(found) == terms, f"{what} must have one row and column for each coefficient",
            f"size {len(found)}, {terms} coefficients")
    return found


def _round_from(stated: RecordFields, where: str) -> Round:
    terms = len(stated.coefficients)
    widths = {len(row) for row in stated.coordinates}
    require(len(stated.coordinates) == terms and len(widths) == 1,
            f"{where}the coordinates must have a row for each coefficient, all of one length",
            f"{len(stated.coordinates)} rows for {terms} coefficients")
    return Round(
        point=Point(coefficients=np.array(stated.coefficients), coordinates=np.array(stated.coordinates), scale=stated.scale,
                    spread=stated.spread is not None),
        noise=Noise(**{name: sd for name, sd in known_part(stated.noise).items() if sd is not None}),
        score=np.array(stated.score), matrix=_mirrored(stated.matrix, terms, f"{where}the matrix"), square=stated.square,
        spread=None if stated.spread is None else _mirrored(stated.spread, terms, f"{where}the spread"))


def _mirrored(triangle: Sequence[float], terms: int, what: str) -> Matrix:
    expected = terms * (terms + 1) // 2
    require(len(triangle) == expected, f"{what}: the upper triangle for {terms} coefficients must have {expected} numbers",
            len(triangle))
    rows, columns = np.triu_indices(terms)
    matrix = np.empty((terms, terms))
    matrix[rows, columns] = matrix[columns, rows] = triangle
    return matrix


def _stated(one: Round) -> dict[str, object]:
    point = one.point
    return {
        "coefficients": point.coefficients.tolist(), "coordinates": point.coordinates.tolist(), "scale": point.scale,
        "noise": _noise_of(one), "score": one.score.tolist(), "matrix": _triangle(one.matrix),
        **({} if one.square is None else {"square": one.square}),
        **({} if one.spread is None else {"spread": _triangle(one.spread)}),
    }


def _triangle(matrix: Matrix) -> Triangle:
    return Triangle(matrix[np.triu_indices(len(matrix))].tolist(), len(matrix))


def _noise_of(one: Round) -> Mapping[str, Any]:
    return {name: sd for name, sd in vars(one.noise).items() if sd is not None}


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _weight(noise: float) -> str:
    """What noise amounts to in sums to which a row adds at most 1."""
    return f"about the weight of {_counted(max(1, round(noise)), 'row')}"


CONTRIBUTION = ModelContribution
