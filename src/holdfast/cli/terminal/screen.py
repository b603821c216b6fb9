"""Writing to a terminal: text that stays goes above, a region that changes is redrawn below it. One write
for each change, lines overwritten rather than cleared first: nothing flickers, and what is typed is never
torn."""

import shutil
from dataclasses import dataclass
from typing import TextIO

from rich.cells import cell_len
from rich.text import Text

from holdfast.cli.safe_text import neutral_char

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # drawn at once by terminals that know it
_CLEAR_LINE, _CLEAR_BELOW = "\x1b[K", "\x1b[J"


@dataclass(frozen=True, slots=True)
class Region:
    """Lines with their colours, none wider than the screen; and where the cursor is (None: at the end)."""

    lines: tuple[str, ...] = ()
    cursor: tuple[int, int] | None = None


class Screen:
    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._region = Region()
        # The width that the region was drawn for: a window that got narrower has wrapped its lines.
        self._columns = self.columns

    @property
    def columns(self) -> int:
        """One is left free: a full line would make some terminals go to the next."""
        return max(shutil.get_terminal_size().columns - 1, 20)

    @property
    def rows(self) -> int:
        return max(shutil.get_terminal_size().lines - 1, 4)

    def draw(self, above: str, region: Region) -> None:
        """`above` stays for good and ends its line."""
        region = self._fitting(region)
        if not above and region == self._region and self._columns == self.columns:
            return
        written = [_BEGIN, self._to_top()]
        if above:
            written += [line + _CLEAR_LINE + "\n" for line in above.removesuffix("\n").split("\n")]
        written.append(("\n").join(line + _CLEAR_LINE for line in region.lines))
        written.append(_CLEAR_BELOW)
        if region.cursor is not None and region.lines:
            row, column = region.cursor
            up = len(region.lines) - 1 - row
            written.append((f"\x1b[{up}A" if up else "") + "\r" + (f"\x1b[{column}C" if column else ""))
        written.append(_END)
        self._out.write("".join(written))
        self._out.flush()
        self._region, self._columns = region, self.columns

    def clear(self) -> None:
        """Leaves what stays, and the cursor below it."""
        self.draw("", Region())

    def wipe(self) -> None:
        """An empty screen."""
        self._out.write("\x1b[2J\x1b[H")
        self.forget()

    def forget(self) -> None:
        """Somebody else wrote on the screen."""
        self._region = Region()

    def _to_top(self) -> str:
        lines = self._region.lines
        if not lines:
            return "\r"
        row = len(lines) - 1 if self._region.cursor is None else self._region.cursor[0]
        rows = row if self.columns >= self._columns else sum(self._wrapped(line) for line in lines[:row])
        return (f"\x1b[{rows}A" if rows else "") + "\r"

    def _wrapped(self, line: str) -> int:
        cells = cell_len(Text.from_ansi(line).plain)
        return max(1, -(-cells // (self.columns + 1)))

    def _fitting(self, region: Region) -> Region:
        """The last lines, where there are more than rows: what is typed stands at the end."""
        extra = len(region.lines) - self.rows
        if extra <= 0:
            return region
        cursor = region.cursor
        return Region(
            region.lines[extra:], None if cursor is None else (max(cursor[0] - extra, 0), cursor[1])
        )


def input_lines(prompt: str, text: str, cursor: int, columns: int) -> tuple[list[str], tuple[int, int]]:
    """The line being typed, folded at the edge, and where its cursor is. The prompt stands before the first
    line and is as wide as the indentation of the others."""
    indent = " " * cell_len(prompt)
    width = columns - len(indent)
    lines, at = [""], (0, 0)
    for place, char in enumerate((*text, "")):
        shown = "    " if char == "\t" else "" if char == "\n" else neutral_char(char)
        if cell_len(lines[-1]) + max(cell_len(shown), 1) > width and char != "\n":
            lines.append("")
        if place == cursor:
            at = (len(lines) - 1, len(indent) + cell_len(lines[-1]))
        lines[-1] += shown
        if char == "\n":
            lines.append("")
    return [(prompt if number == 0 else indent) + line for number, line in enumerate(lines)], at
