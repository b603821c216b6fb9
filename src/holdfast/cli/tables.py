"""Tables for reading commands: plain columns in pipes, cut to the window on a terminal."""

import shutil
import sys
from collections.abc import Sequence


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The last column takes what is left of the line. Cells are neutral already."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in table(head, rows, width):
        print(line)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    columns = [[name.upper() for name in head], *rows]
    widths = [max(_cells(row[at]) for row in columns) for at in range(len(head))]
    lines = [
        "  ".join(_padded(cell, size) for cell, size in zip(row, widths, strict=True)) for row in columns
    ]
    return [_cut(line.rstrip(), width) for line in lines]


def _cells(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(text: str, size: int) -> str:
    return text + " " * (size - _cells(text))


def _cut(line: str, width: int | None) -> str:
    if width is None or _cells(line) <= width:
        return line
    from rich.cells import set_cell_size

    return set_cell_size(line, width - 1).rstrip() + "…"
