"""Tables as CSV in which no cell is a formula for a spreadsheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def csv_text(table: pandas.DataFrame) -> str:
    """The table as CSV. Names of columns and levels may come from a hostile release file, and a spreadsheet would run them.

    >>> import pandas
    >>> csv_text(pandas.DataFrame({"mean": [1.0]}, index=pandas.Index(["=cmd()"], name="term")))
    "term,mean\\n'=cmd(),1.0\\n"
    """
    from noisewise.synthetic.files import harmless

    def plain(value: Any) -> Any:
        return harmless(value) if isinstance(value, str) else value

    return str(table.reset_index().map(plain).rename(columns=plain).to_csv(index=False, lineterminator="\n"))
