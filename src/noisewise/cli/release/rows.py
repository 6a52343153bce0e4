"""``noisewise release rows``: every row with noise in each cell, in a file next to the release file."""

from __future__ import annotations

from pathlib import Path

from noisewise.cli.named_numbers import read_shares
from noisewise.cli.options import CellMechanism, Copies, Shares
from noisewise.cli.output import Output
from noisewise.kinds import Rows
from noisewise.releases.release import Release


def asked(copies: Copies = 1, share: Shares = None, mechanism: CellMechanism = None) -> Rows:
    """Publish every row with noise in each cell: far less precise than a release of kind gram at the same epsilon.

    Writes the rows to a Parquet file next to the release file: rows.rows.parquet for rows.nwr.

    Example: noisewise release rows patients.parquet -s schema.toml -e 8 -o rows.nwr

    `noisewise plan rows` compares the noise with that of gram.
    """
    return Rows(copies=copies, shares=read_shares(share), mechanism=mechanism)


def tell(out: Output, made: Release, target: Path) -> None:
    """Print what can be done with the files."""
    out.explain(f"The rows are in {made.contents.file.name} in the same folder. Both files may be given to anyone, together. "
                "Every cell has noise: means and sums of many rows are usable, single rows are not. `noisewise plan rows` "
                "compares the noise with that of a gram release.")
    out.explain("A ledger stores the release file only. Keep the file of rows: it cannot be made again.")
