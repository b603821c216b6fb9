"""Markdown on a terminal while it is still being said: blocks that are finished are shown for good, the
last one may still change."""

import re
from io import StringIO
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.theme import Theme
from typing_extensions import override

from holdfast.cli.safe_text import neutral

# A block ends at a line's end, so only shortly after one is it worth looking for.
_NEAR_LINE_END = 16
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")
# Code without a background of its own: the terminal's may be light or dark.
_THEME = Theme({"markdown.code": "cyan", "markdown.code_block": "cyan"})


def finished(text: str) -> int:
    """How much of it is whole blocks: all before the last one, which may still grow."""
    if text.count("\n") < 2 or len(text) - text.rfind("\n") > _NEAR_LINE_END:
        return 0
    starts = [token.map[0] for token in Markdown(text).parsed if token.level == 0 and token.map]
    if len(starts) < 2:
        return 0
    return sum(len(line) for line in _LINE.findall(text)[: starts[-1]])


class _LeftHeading(Heading):
    """Bold where it stands: frames and centring are for pages."""

    @override
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class SafeMarkdown(Markdown):
    """Links show where they lead, so that no text can pretend to lead elsewhere."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _LeftHeading}

    def __init__(self, text: str) -> None:
        super().__init__(neutral(text), code_theme="ansi_dark", hyperlinks=False)


def rendered(part: RenderableType, columns: int) -> str:
    """As a terminal takes it, in colours that it knows; without empty lines before and after, without the
    blanks that fill lines up, and without the end of the last line."""
    out = StringIO()
    console = Console(
        file=out,
        force_terminal=True,
        width=columns,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        theme=_THEME,
    )
    console.print(part)
    return "\n".join(line.rstrip(" ") for line in out.getvalue().split("\n")).strip("\n")
