"""``noisewise release rows``: every row with noise in each cell, in a file beside the release file."""

from __future__ import annotations

from pathlib import Path

from noisewise.cli.named_numbers import read_shares
from noisewise.cli.options import CellMechanism, Copies, Shares
from noisewise.cli.output import Output
from noisewise.kinds import Rows
from noisewise.releases.release import Release


def asked(copies: Copies = 1, share: Shares = None, mechanism: CellMechanism = None) -> Rows:
    """Publish every row with noise in each cell: far less precise than a release of kind gram at the same epsilon.

    The rows are written to a Parquet file beside the release file: rows.nwr has rows.rows.parquet.

    Example: noisewise release rows patients.parquet -s schema.toml -e 8 -o rows.nwr

    `noisewise plan rows` compares the noise with that of gram.
    """
    return Rows(copies=copies, shares=read_shares(share), mechanism=mechanism)


def tell(out: Output, made: Release, target: Path) -> None:
    """What may be done with the files."""
    out.explain(f"The rows are in {made.contents.file.name} beside it. Both files may be given to anyone, together. The noise is "
                "in the cells: means and sums of many rows are usable, single rows are not. `noisewise plan rows` compares the "
                "noise with that of a gram release.")
    out.explain("A ledger keeps the first file only: keep the file of rows, which cannot be made again.")
