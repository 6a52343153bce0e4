"""The physical lines of a CSV file, in blocks that are safe to parse.

A row is a line: text up to a line feed, a carriage return, or both. If a quoted cell could span lines, one stray quote would
swallow the rows after it, so one person's cell would affect other people's rows. Instead, a line that is not a complete record is
replaced by one with the wrong number of cells, which counts as a row in which everything is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Protocol

import numpy as np

BLOCK_BYTES: Final = 1 << 22

LINE_BYTES: Final = 1 << 20
"""A longer line does not count as a record, so that memory stays constant."""

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_CELL: Final = rb'(?:"[^"]*(?:""[^"]*)*"|[^",]*)'
_RECORD: Final = re.compile(rb"%s(?:,%s)*" % (_CELL, _CELL))
_CELLS: Final = re.compile(rb"(?:^|,)(%s)" % _CELL)
_QUOTED: Final = re.compile(rb'"[^"]*"')


def header_cells(line: bytes) -> list[str] | None:
    """The names in a header line, or None if it is not a record of UTF-8 text."""
    if len(line) > LINE_BYTES or not _RECORD.fullmatch(line):
        return None
    cells = [match[1] for match in _CELLS.finditer(line)]
    plain = [cell[1:-1].replace(b'""', b'"') if cell.startswith(b'"') else cell for cell in cells]
    try:
        return [cell.decode() for cell in plain]
    except UnicodeDecodeError:
        return None


class Stream(Protocol):
    """Anything to read bytes from."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""
        ...


def blocks(stream: Stream) -> Iterator[bytes]:
    """The bytes of a stream, cut at ends of lines. The part of a line beyond the limit is left out."""
    rest = b""
    while chunk := stream.read(BLOCK_BYTES):
        data = rest + chunk
        end = data.rfind(b"\n") + 1
        # A carriage return at the very end may be the first half of a line ending.
        end = max(end, data.rfind(b"\r", end, len(data) - 1) + 1)
        rest = data[end:]
        if len(rest) > LINE_BYTES + 2:
            rest = rest[: LINE_BYTES + 1] + rest[-1:]
        if end:
            yield data[:end]
    if rest:
        yield rest


def split_header(pieces: Iterator[bytes]) -> tuple[bytes, bytes]:
    """The first non-empty line, and the rest of its block. Consumes the blocks up to there."""
    first = True
    for piece in pieces:
        if first and piece.startswith(BYTE_ORDER_MARK):
            piece = piece[len(BYTE_ORDER_MARK) :]
        first = False
        body = piece.lstrip(b"\r\n")
        if body:
            line = re.match(rb"[^\r\n]*", body)
            assert line is not None
            return line[0], re.sub(rb"\A(?:\r\n|\r|\n)", b"", body[line.end() :])
    return b"", b""


def repair(block: bytes, cells: int) -> bytes:
    """A block of whole lines, in which every line that is not a record is replaced by one with the wrong number of cells.

    Records and the number of lines do not change.
    """
    # Check the whole block first, because looking at every line is slow.
    if _quotes_are_plain(block) and not _has_long_line(block) and _is_unicode(block):
        return block
    malformed = b"," if cells == 1 else b"?"
    return b"".join(
        line if _is_record(text := line.rstrip(b"\r\n"), cells) else malformed + line[len(text) :]
        for line in block.splitlines(keepends=True)
    )


def _quotes_are_plain(block: bytes) -> bool:
    """True if each quote belongs to a cell that begins and ends with one and has none inside. Then all lines are records.

    Uses arrays, which take a tenth of the time of a regular expression and let other threads work meanwhile.
    """
    if b'"' not in block:
        return True
    text = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
    (quotes,) = np.nonzero(text == ord('"'))
    if len(quotes) % 2:
        return False
    beside = text[np.concatenate([quotes[::2] - 1, quotes[1::2] + 1])]
    if not np.isin(beside, np.frombuffer(b",\r\n", dtype=np.uint8)).all():
        return False
    ends = [np.flatnonzero(text == ord(end)) for end in ("\n", "\r") if end.encode() in block]
    # Every cell must be closed before the end of its line.
    return not any((np.searchsorted(quotes, places) % 2).any() for places in ends)


def _is_record(line: bytes, cells: int) -> bool:
    if len(line) > LINE_BYTES:
        return False
    if b'"' in line and not _RECORD.fullmatch(line):
        return False
    # The parser reports a line with the wrong number of cells as text, which fails unless it is UTF-8. So it must not see one.
    return _is_unicode(line) or _QUOTED.sub(b"", line).count(b",") + 1 == cells


def _is_unicode(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _has_long_line(block: bytes) -> bool:
    """True if a line is too long. Jumps from the last line ending within the limit to the next."""
    start = 0
    while len(block) - start > LINE_BYTES:
        reach = start + LINE_BYTES + 1
        start = max(block.rfind(b"\n", start, reach), block.rfind(b"\r", start, reach)) + 1
        if not start:
            return True
    return False
