"""Read the release files of thousands of holders in parallel and in little memory; errors name the file."""

from __future__ import annotations

import glob
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from noisewise.releases.checks import require
from noisewise.releases.combine import Together
from noisewise.releases.files import for_several_holders
from noisewise.releases.release import Release
from noisewise.run import DEFAULT, Run

Files: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""A release file, a folder of them, a pattern such as ``sites/*.nwr``, or several of these."""


def load_many(files: Files, *, pooled: bool = False, processes: int | None = None, run: Run = DEFAULT) -> Release:
    """Read the release files of many holders into one release. The result is that of ``combine``, but reading is faster.

    ``files`` is a folder (its files that end in ``.nwr``, sorted by name), a pattern such as ``"sites/*.nwr"``, or a list of
    files, folders and patterns. Errors name the file that is missing, cannot be read, does not describe the same thing as the
    first, or repeats an earlier one.

    A release holds one matrix per holder: 8·d² bytes, where d is the number of released columns with the constant. With
    ``pooled=True``, holders with nearly the same noise per row are added up as they are read, and memory no longer grows with
    their number. The default fit, fits of other families, ``conditional-flat`` and ``laplace`` then use all holders, with weights
    that differ by about 2 %. Methods that use each matrix separately (``normal-x``, ``fixed-s`` and others) treat a sum as
    one holder and differ more. Whatever needs each holder by itself (``site``, ``check``) is refused. Only releases of kind
    ``gram`` can be pooled.

    Reading is spread over ``processes`` (None: one per core if that is faster). The result does not depend on their number.

    >>> import noisewise as nw, numpy as np, tempfile, os
    >>> schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [18, 98]}}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for site in ("a", "b", "c"):
    ...         made = nw.release({"age": np.full(100, 50.0)}, schema, epsilon=1, delta=1e-6)
    ...         _ = made.save(os.path.join(folder, f"{site}.nwr"))
    ...     nw.load_many(folder), nw.load_many(folder, pooled=True)
    (<Release gram: 1 columns, 3 holders, replace-one, (epsilon, delta) = (1.0, 1e-06)>,
     <Release gram: 1 columns, 3 holders (in 1 sums), replace-one, (epsilon, delta) = (1.0, 1e-06)>)
    """
    from noisewise.releases.pooled import Pool

    paths = release_paths(files)
    together = Together(paths, Pool() if pooled else None)
    with closing(read_in_order(paths, processes=processes, run=run)) as releases:
        for place, release in enumerate(releases):
            together.add(place, release)
    return together.release()


def read_in_order(paths: Sequence[str], *, processes: int | None = None, run: Run = DEFAULT) -> Generator[Release, None, None]:
    """Read these files one after the other; an error names the first bad file."""
    from noisewise.releases.reading import read_all

    with run.bar("Reading releases", "files") as tick, closing(read_all(paths, processes)) as all_found:
        for place, found in enumerate(all_found):
            yield for_several_holders(found, paths[place])
            tick(place + 1, len(paths))


def release_paths(files: Files) -> list[str]:
    """List the files: folders and patterns become the files in them, sorted by name."""
    given = [files] if isinstance(files, str | os.PathLike) else list(files)
    found = [path for one in given for path in _expanded(os.fspath(one))]
    require(bool(found), "at least one release file is required", "an empty list")
    return found


def _expanded(name: str) -> list[str]:
    if os.path.isdir(name):
        inside = sorted(str(path) for path in Path(name).iterdir() if path.suffix == ".nwr" and not path.name.startswith("."))
        require(bool(inside), "the folder contains no release files", f"nothing that ends in .nwr in {name}",
                "give the folder that contains the files directly")
        return inside
    if glob.has_magic(name) and not os.path.lexists(name):
        matching = sorted(glob.glob(name))
        require(bool(matching), "no file matches the pattern", name, "check the folder, or list the files")
        return matching
    return [name]
