"""`Bounds`: estimates of bounds that nobody knows, for declaring numeric columns in a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from noisewise.kinds.kind import Kind, Options, require
from noisewise.schema.columns import is_finite_number
from noisewise.schema.schema import Schema
from noisewise.schema.search_grid import Known, checked_digits, share_outside
from noisewise.words import either


@dataclass(frozen=True)
class Bounds(Kind):
    """Estimated bounds of columns, paid for with epsilon. Bounds from public knowledge are better, and free.

    ``of`` is one or several columns, or a dictionary of what is known: ``{"stay": (0, None), "weight": (None, None)}`` asks for
    the upper bound of one column and both bounds of another. Epsilon is divided equally among the bounds. About a share ``tail``
    of the rows lies outside each bound, more if the noise requires it. Candidates are numbers with this many significant
    ``digits``. Bounds are rounded outwards by at most a twentieth of their distance. Missing cells are ignored. Declare the
    columns in the schema with ``bounds = "unknown"``.

    >>> Bounds({"age": (0, None)}).to_dict()
    {'name': 'bounds', 'of': {'age': [0.0, None]}, 'tail': 0.005, 'digits': 3}
    """

    name: ClassVar[str] = "bounds"
    needs_bounds: ClassVar[bool] = False
    purpose: ClassVar[str] = "bounds of columns, to declare in a schema"
    use: ClassVar[str] = "declare its bounds in a schema: " + either("release.contents.to_toml()", "noisewise show")

    of: Mapping[str, Known]
    tail: float = 0.005
    digits: int = 3

    def __init__(self, of: str | Sequence[str] | Mapping[str, Known], tail: float = 0.005, digits: int = 3) -> None:
        object.__setattr__(self, "of", Options(_asked(of)))
        object.__setattr__(self, "tail", share_outside(tail))
        object.__setattr__(self, "digits", checked_digits(digits))

    def title(self, schema: Schema) -> str:
        """The columns."""
        return ", ".join(self.of)


def _asked(of: object) -> dict[str, Known]:
    if isinstance(of, Mapping):
        asked = dict(of)
    else:
        names = [of] if isinstance(of, str) else list(of) if isinstance(of, Sequence) else []
        asked = {name: (None, None) for name in names}
        require(len(asked) == len(names), "each column must be named only once", ", ".join(map(str, names)),
                "remove the repetition")
    require(bool(asked) and all(isinstance(name, str) for name in asked),
            "of must name the columns whose bounds to estimate", of, 'for example "age", or ["age", "stay"]', "of")
    return {name: _checked(name, known) for name, known in asked.items()}


def _checked(name: str, known: object) -> Known:
    where = f"column '{name}'"
    given = known if isinstance(known, (tuple, list)) else ()
    require(len(given) == 2 and all(bound is None or is_finite_number(bound) for bound in given),
            f"{where}: known bounds must be a pair of numbers, with None for each bound to estimate", known,
            "for example (0, None)", "of")
    require(None in given, f"{where}: both bounds are known, so there is nothing to estimate", known,
            "declare them in the schema, or give None for a bound to estimate", "of")
    lower, upper = (None if bound is None else float(bound) for bound in given)
    return lower, upper
