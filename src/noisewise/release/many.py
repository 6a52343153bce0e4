"""The release files of thousands of holders: read in parallel, refused by name, and held in little memory."""

from __future__ import annotations

import glob
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from noisewise.errors import IncompatibleReleasesError, ReleaseError
from noisewise.progress import Tick, progress_bar
from noisewise.release.combine import alike, differing, joined
from noisewise.release.files import only_matrices
from noisewise.release.model import GramPart, Release
from noisewise.release.pooled import Pool

Files: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""A release file, a folder of them, a pattern such as ``sites/*.nwr``, or several of these."""


def load_many(files: Files, *, pooled: bool = False, processes: int | None = None,
              progress: Tick | bool | None = None) -> Release:
    """Read the release files of many holders as one release: what ``combine`` makes of all of them, and faster.

    ``files`` is a folder (its files that end in ``.nwr``, in the order of their names), a pattern such as ``"sites/*.nwr"``, or
    a list of files, folders and patterns. An error names the file: one that is missing, cannot be read, does not describe the
    same thing as the first, or repeats an earlier one.

    A release holds one matrix for each holder: 8·d² bytes, d being the number of released columns with the constant. With
    ``pooled=True`` holders whose noise per row is alike are added up as they are read, and memory no longer grows with
    their number. The default fit, those of other families, ``conditional-flat`` and ``laplace`` are then those of all holders,
    with weights that differ by 2 % at most. Methods that treat each matrix by itself (``normal-x``, ``fixed-s`` and others)
    take a sum for one holder, and differ more. What needs each holder (``site``, ``check``) is refused. It is for releases of
    kind ``gram``.

    Reading is spread over ``processes`` (None: one for each core if that pays); the result does not depend on their number.

    >>> import noisewise as nw, numpy as np, tempfile, os
    >>> schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [18, 98]}}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for site in ("a", "b", "c"):
    ...         made = nw.release({"age": np.full(100, 50.0)}, schema, epsilon=1, delta=1e-6)
    ...         _ = made.save(os.path.join(folder, f"{site}.nwr"))
    ...     nw.load_many(folder), nw.load_many(folder, pooled=True)
    (<Release gram: 1 columns, 3 parts, replace-one, (epsilon, delta) = (1.0, 1e-06)>,
     <Release gram: 1 columns, 3 parts (in 1 sums), replace-one, (epsilon, delta) = (1.0, 1e-06)>)
    """
    paths = release_paths(files)
    together = _Together(paths, pooled)
    with closing(read_in_order(paths, processes=processes, progress=progress)) as releases:
        for place, release in enumerate(releases):
            together.add(place, release)
    return together.release()


def read_in_order(paths: Sequence[str], *, processes: int | None = None,
                  progress: Tick | bool | None = None) -> Generator[Release, None, None]:
    """The releases of these files, one after the other; an error names the first file that is wrong."""
    from noisewise.release.reading import read_all

    with progress_bar(progress, "Reading releases", "files") as tick, closing(read_all(paths, processes)) as all_found:
        for place, found in enumerate(all_found):
            yield only_matrices(found, paths[place])
            tick(place + 1, len(paths))


def release_paths(files: Files) -> list[str]:
    """The files that are meant: folders and patterns become the files in them, sorted by name."""
    given = [files] if isinstance(files, str | os.PathLike) else list(files)
    found = [path for one in given for path in _expanded(os.fspath(one))]
    if not found:
        raise ReleaseError("there must be at least one release file", found="an empty list")
    return found


def _expanded(name: str) -> list[str]:
    if os.path.isdir(name):
        inside = sorted(str(path) for path in Path(name).iterdir() if path.suffix == ".nwr" and not path.name.startswith("."))
        if not inside:
            raise ReleaseError("the folder holds no release files", found=f"nothing that ends in .nwr in {name}",
                               remedy="name the folder in which the files lie themselves")
        return inside
    if glob.has_magic(name) and not os.path.lexists(name):
        matching = sorted(glob.glob(name))
        if not matching:
            raise ReleaseError("no file matches the pattern", found=name, remedy="look at the folder, or name the files")
        return matching
    return [name]


class _Together:
    """Puts parts together as they come, each compared once with what there is."""

    def __init__(self, paths: Sequence[str], pooled: bool) -> None:
        self._paths = paths
        self._first: Release | None = None
        self._heads: dict[object, Release] = {}
        self._seen: dict[bytes, int] = {}
        self._parts: list[GramPart] = []
        self._pool = Pool() if pooled else None

    def add(self, place: int, release: Release) -> None:
        self._compare(place, release)
        for part in release.parts:
            earlier = self._seen.setdefault(part.fingerprint(), place)
            if earlier != place:
                raise IncompatibleReleasesError("each release is used once: one that is counted twice would fake precision",
                                                found=self._twice(earlier, place), remedy="leave one of them out")
            if self._pool is None:
                self._parts.append(part)
            else:
                self._add_up(part, place)

    def release(self) -> Release:
        return joined(list(self._heads.values()), tuple(self._parts) if self._pool is None else self._pool.parts())

    def _compare(self, place: int, release: Release) -> None:
        if self._first is None:
            self._first = release.with_parts(release.parts[:1])
        # Files with the same text before their parts share their declarations: they are compared at the cost of a look.
        differences = [] if alike(self._first, release) else list(differing(self._first, release))
        if differences:
            one, other = self._paths[0], self._paths[place]
            words = "; ".join(differences)
            raise IncompatibleReleasesError(
                f"{other} does not describe the same thing as {one}",
                found=words.replace("only in the first", f"only in {one}").replace("only in the second", f"only in {other}"),
                remedy="releases that are fitted together are made from one schema with the same terms",
            )
        what_may_differ = (release.schema.partition, release.version, repr(release.extra))
        if what_may_differ not in self._heads:
            self._heads[what_may_differ] = release.with_parts(release.parts[:1])

    def _twice(self, earlier: int, place: int) -> str:
        one, other = self._paths[earlier], self._paths[place]
        same = os.path.realpath(one) == os.path.realpath(other)
        return f"{one} is given twice" if same else f"{one} and {other} hold the same part"

    def _add_up(self, part: GramPart, place: int) -> None:
        assert self._pool is not None
        try:
            self._pool.add(part)
        except ReleaseError as error:
            raise ReleaseError(f"{self._paths[place]}: {error.rule}", found=error.found, remedy=error.remedy) from None
