"""What a release is: one record for all kinds, which cannot be built with contents that contradict one another."""

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
    """What was paid for: noisy numbers that anyone may have, one contribution per data holder, all from one public schema.

    ``kind`` is what was asked for, ``columns`` are those of the statistic where it has columns, ``extra`` holds the fields of a
    newer format (``version``) that this version does not know, in their places. What only one kind has is in its contributions:
    ``contents`` is that of a release of one holder.
    """

    kind: Kind
    schema: Schema
    contributions: tuple[Any, ...]
    columns: tuple[BasisColumn, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    version: str = FORMAT_VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "contributions", tuple(self.contributions))
        object.__setattr__(self, "extra", copy.deepcopy(dict(self.extra)))
        require(isinstance(self.kind, Kind), "a release has a kind", short(self.kind), "for example noisewise.Gram()")
        object.__setattr__(self, "columns", tuple(self.columns) or self.kind.columns(self.schema))
        with refused_as_release():
            self.kind.check_columns(self.schema, self.columns)
        self._check_contributions()

    def with_contributions(self, contributions: tuple[Any, ...]) -> Release:
        """Other contributions to the same. Only they are checked: thousands of files can share what was checked once."""
        made = copy.copy(self)
        object.__setattr__(made, "contributions", contributions)
        made._check_contributions()
        return made

    def _check_contributions(self) -> None:
        count = len(self.contributions)
        require(count > 0, "a release needs at least one contribution", "none")
        require(count == 1 or self.kind.holders, f"a release of kind {self.kind.name} is one holder's", f"{count} contributions")
        for number, one in enumerate(self.contributions, start=1):
            with refused_as_release(f"contribution {number}: " if count > 1 else ""):
                self._check(one)
                shared = self.contributions[0].common()
                for name, value in one.common().items():
                    require(value == shared[name], f"all contributions to a release have the same {name}",
                            f"{shared[name]} and {value}")
        require(count == 1 or len({one.fingerprint() for one in self.contributions}) == count,
                "the same contribution may not be counted twice: it would fake precision",
                "two contributions with identical numbers", "give each release once")

    def _check(self, one: Contribution) -> None:
        require(isinstance(one, contribution_of(self.kind)),
                f"a release of kind {self.kind.name} has contributions of its own kind", type(one).__name__)
        asked, public = getattr(self.kind, "mechanism", None), self.schema.rows_are_public
        require(asked in (None, one.mechanism), "the mechanism is the one that the kind asks for",
                f"{short(one.mechanism)}, asked for {short(asked)}")
        require((one.rows is not None) == public, f"by this schema ({self.adjacency}) the number of rows is "
                + ("stated exactly" if public else "not stated"), f"rows {one.rows}")
        one.check(self.kind, self.schema, self.columns)

    @property
    def contents(self) -> Any:
        """What one holder released: the only contribution."""
        require(len(self.contributions) == 1, "these are the contributions of several holders", self.holders,
                "see release.contributions")
        return self.contributions[0]

    @cached_property
    def basis(self) -> Basis:
        """The released columns, the constant first."""
        return Basis(self.schema, self.columns)

    @property
    def terms(self) -> str | None:
        """The terms that were asked for beside the columns of the schema, if the kind has any."""
        return getattr(self.kind, "terms", None)

    @property
    def formula(self) -> str | None:
        """The regression that was asked for, if it was one."""
        return getattr(self.kind, "formula", None)

    @property
    def adjacency(self) -> Adjacency:
        return self.schema.adjacency

    @property
    def holders(self) -> int:
        """How many data holders contributed: one contribution each, unless they were added up while they were read."""
        return sum(one.holders for one in self.contributions)

    @property
    def pooled(self) -> bool:
        """Whether holders were added up (``load_many`` with ``pooled=True``): what needs each of them apart is then refused."""
        return self.holders > len(self.contributions)

    @property
    def clipped_norm(self) -> float | None:
        """The norm to which rows were shortened, if they were."""
        return self.contributions[0].clipped_norm(self.schema, self.columns) if self.columns else None

    def rules(self) -> list[str]:
        """What was done to cells and rows that do not fit: for people; a reader derives it from the schema."""
        return [*self.schema.rules(), *self.contributions[0].rules(self.schema, self.columns)]

    def title(self) -> str:
        """What it is of, in a few words."""
        return self.formula or (f"{self.basis.size - 1} columns" if self.columns else self.kind.title(self.schema))

    def fingerprints(self) -> list[bytes]:
        """Of the noisy numbers of each data holder."""
        return [found for one in self.contributions for found in one.fingerprints()]

    def placed_at(self, path: str | os.PathLike[str]) -> Release:
        """The same release, read from or written to this path: for kinds with further files beside it."""
        if not self.kind.needs_file:
            return self
        return self.with_contributions(tuple(one.placed_at(Path(path)) for one in self.contributions))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file, by custom ending in ``.nwr``; an older one is replaced whole or left as it was."""
        from noisewise.releases.files import save

        if self.pooled:
            raise ReleaseWriteError("sums of several holders' releases are not written: they are no one's release",
                                    found=f"{self.holders} holders in {len(self.contributions)} sums",
                                    remedy="keep the holders' files")
        if self.kind.needs_file:
            self.contents.bring_files(Path(path))
        return save(self, path)

    def facts(self) -> dict[str, Any]:
        """A release for machines. Matrices and rows are in the files alone, of which one is JSON itself."""
        return {
            "kind": self.kind.to_dict(), "format_version": self.version, "schema": self.schema.to_dict(),
            **({"columns": list(self.basis.names[1:])} if self.columns else {}),
            "contributions": [one.facts() for one in self.contributions],
        }

    def describe(self) -> str:
        """The release in words: what is protected and how, what was released, how large the noise is."""
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
            delta = f", delta {one.delta!r}" if one.delta else ""  # exact: a description may not promise more than was spent
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
    """A label and its text, in lines."""
    return textwrap.wrap(" ".join(text.split()), 100, initial_indent=f"  {label:<9} ", subsequent_indent=" " * 12)


def contribution_of(kind: Kind) -> type[Contribution]:
    """The record of what a holder contributes to a release of this kind."""
    found: type[Contribution] = module_of(kind, "contents").CONTRIBUTION
    return found
