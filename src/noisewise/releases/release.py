"""A release: one record for all kinds, which cannot be built from contents that contradict one another."""

from __future__ import annotations

import copy
import os
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from noisewise.errors import ReleaseWriteError
from noisewise.kinds import Kind
from noisewise.kinds.kind import shown_names
from noisewise.kinds.registry import module_of
from noisewise.releases.checks import refused_as_release, require
from noisewise.releases.contribution import Contribution
from noisewise.releases.json_text import short
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.schema import Adjacency, Schema

FORMAT_VERSION: Final = "1.0"


@dataclass(frozen=True)
class Release:
    """Noisy numbers that anyone may see, paid for with privacy: one contribution per data holder, all from one public schema.

    ``kind`` is what was asked for, ``columns`` are the columns of the statistic if it has any, and ``extra`` holds the fields of
    a newer format (``version``) that this version does not know, in their places. Whatever only one kind has is in its
    contributions; ``contents`` is the contribution of a release of one holder.
    """

    kind: Kind
    schema: Schema
    contributions: tuple[Any, ...]
    columns: tuple[BasisColumn, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    version: str = FORMAT_VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "contributions", tuple(self.contributions))
        object.__setattr__(self, "extra", copy.deepcopy(dict(self.extra)))
        require(isinstance(self.kind, Kind), "a release must have a kind", short(self.kind), "for example noisewise.Gram()")
        object.__setattr__(self, "columns", tuple(self.columns) or self.kind.columns(self.schema))
        with refused_as_release():
            self.kind.check_columns(self.schema, self.columns)
        self._check_contributions()

    def with_contributions(self, contributions: tuple[Contribution, ...]) -> Release:
        """The same release with other contributions. Only they are checked, so thousands of files can share the rest."""
        made = copy.copy(self)
        object.__setattr__(made, "contributions", contributions)
        made._check_contributions()
        return made

    def _check_contributions(self) -> None:
        count = len(self.contributions)
        require(count > 0, "a release needs at least one contribution", "none")
        require(count == 1 or self.kind.holders, f"a release of kind {self.kind.name} must have exactly one contribution",
                f"{count} contributions")
        for number, one in enumerate(self.contributions, start=1):
            with refused_as_release(f"contribution {number}: " if count > 1 else ""):
                self._check(one)
                shared = self.contributions[0].common()
                for name, value in one.common().items():
                    require(value == shared[name], f"all contributions to a release must have the same {name}",
                            f"{shared[name]} and {value}")
        require(count == 1 or len({one.fingerprint() for one in self.contributions}) == count,
                "the same contribution must not be counted twice: that would fake precision",
                "two contributions with identical numbers", "give each release once")

    def _check(self, one: Contribution) -> None:
        require(isinstance(one, contribution_of(self.kind)),
                f"a release of kind {self.kind.name} must have contributions of the same kind", type(one).__name__)
        asked, public = getattr(self.kind, "mechanism", None), self.schema.rows_are_public
        require(asked in (None, one.mechanism), "the mechanism must be the one that the kind asks for",
                f"{short(one.mechanism)}, asked for {short(asked)}")
        require((one.rows is not None) == public, f"with this schema ({self.adjacency}) the number of rows must "
                + ("be stated exactly" if public else "not be stated"), f"rows {one.rows}")
        one.check(self.kind, self.schema, self.columns)

    @property
    def contents(self) -> Any:
        """The only contribution of a release of one holder."""
        require(len(self.contributions) == 1, "contents requires a release of one holder", self.holders,
                "use release.contributions")
        return self.contributions[0]

    @cached_property
    def basis(self) -> Basis:
        """The released columns, the constant first."""
        return Basis(self.schema, self.columns)

    @property
    def terms(self) -> str | None:
        """The terms that were asked for in addition to the columns of the schema, if the kind has any."""
        return getattr(self.kind, "terms", None)

    @property
    def formula(self) -> str | None:
        """The regression that was asked for, if the kind is about one."""
        return getattr(self.kind, "formula", None)

    @property
    def adjacency(self) -> Adjacency:
        """Which tables count as neighbours."""
        return self.schema.adjacency

    @property
    def holders(self) -> int:
        """The number of data holders. Each has one contribution, unless contributions were added up while they were read."""
        return sum(one.holders for one in self.contributions)

    @property
    def pooled(self) -> bool:
        """True if holders were added up (``load_many`` with ``pooled=True``). Whatever needs each by itself is refused."""
        return self.holders > len(self.contributions)

    @property
    def clipped_norm(self) -> float | None:
        """The norm to which rows were clipped, if they were."""
        return self.contributions[0].clipped_norm(self.schema, self.columns) if self.columns else None

    def rules(self) -> list[str]:
        """What was done to cells and rows that do not fit. For people: a reader derives it from the schema."""
        return [*self.schema.rules(), *self.contributions[0].rules(self.schema, self.columns)]

    def title(self) -> str:
        """A short description of what was released."""
        return self.formula or (f"{self.basis.size - 1} columns" if self.columns else self.kind.title(self.schema))

    def fingerprints(self) -> list[bytes]:
        """The fingerprint of each data holder's noisy numbers."""
        return [found for one in self.contributions for found in one.fingerprints()]

    def placed_at(self, path: str | os.PathLike[str]) -> Release:
        """The same release, located at this path. Only matters to kinds with further files next to the release file."""
        if not self.kind.needs_file:
            return self
        return self.with_contributions(tuple(one.placed_at(Path(path)) for one in self.contributions))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a release file, whose name usually ends in ``.nwr``. An existing file is replaced whole or left unchanged."""
        from noisewise.releases.files import save

        if self.pooled:
            raise ReleaseWriteError("pooled releases cannot be saved: they are not the release of any holder",
                                    found=f"{self.holders} holders in {len(self.contributions)} sums",
                                    remedy="keep the holders' files")
        if self.kind.needs_file:
            self.contents.bring_files(Path(path))
        return save(self, path)

    def facts(self) -> dict[str, Any]:
        """A summary for programs. Matrices and rows are only in the release files, which are JSON and Parquet."""
        return {
            "kind": self.kind.to_dict(), "format_version": self.version, "schema": self.schema.to_dict(),
            **({"columns": list(self.basis.names[1:])} if self.columns else {}),
            "contributions": [one.facts() for one in self.contributions],
        }

    def describe(self) -> str:
        """Describe the release: what is protected and how, what was released, how large the noise is."""
        unit, numbers = self.schema.unit, self.contributions[0].count()
        protected = "one row" if unit.is_row else f"one {unit.column} (at most {unit.max_rows} rows)"
        several = f" from each of {self.holders} holders" if self.holders > 1 else ""
        lines = [
            f"noisewise release of kind {self.kind.name}: {numbers:,} noisy {'number' if numbers == 1 else 'numbers'}{several}",
            *wrapped("for", self.kind.purpose if self.formula is None else f"{self.formula}: {self.kind.purpose}"),
            *(wrapped("columns", shown_names(self.basis.names[1:], 12)) if self.columns else
              wrapped("of", self.kind.title(self.schema))),
            *wrapped("protects", f"{protected}; neighbours: {self.adjacency}"),
        ]
        for number, one in enumerate(self.contributions, start=1):
            added_up = f": the sum of {one.holders} holders" if one.holders > 1 else ""
            lines += ["", f"holder {number}{added_up}"] if self.holders > 1 else []
            delta = f", delta {one.delta!r}" if one.delta else ""  # exact: a description must not promise more than was spent
            for label, text in (("rows", one.shown_rows),
                                ("privacy", f"epsilon {repr(one.epsilon).removesuffix('.0')}{delta}. {one.statement}"),
                                *one.lines(self.kind, self.schema), ("made", f"{one.created} by {one.library}")):
                lines += wrapped(label, text)
        return "\n".join(lines)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        budgets = ", ".join(dict.fromkeys(f"({one.epsilon}, {one.delta})" for one in self.contributions[:4]))
        more = ", ..." if self.holders > 4 else ""
        sums = f" (in {len(self.contributions)} sums)" if self.pooled else ""
        holders = f", {self.holders} holders{sums}" if self.holders > 1 else ""
        return f"<Release {self.kind.name}: {self.title()}{holders}, {self.adjacency}, (epsilon, delta) = {budgets}{more}>"

    def _repr_html_(self) -> str:
        from noisewise.notebook import described

        return described(self.describe())


def wrapped(label: str, text: str) -> list[str]:
    """A label and its text, wrapped into lines."""
    return textwrap.wrap(" ".join(text.split()), 100, initial_indent=f"  {label:<9} ", subsequent_indent=" " * 12)


def contribution_of(kind: Kind) -> type[Contribution]:
    """The contribution class of this kind."""
    found: type[Contribution] = module_of(kind, "contents").CONTRIBUTION
    return found
