"""`holdfast trace`: where the time of a chat went, as a waterfall in text."""

import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, ChatWord, Url, print_json, with_server
from holdfast.cli.safe_text import neutral_line
from holdfast.cli.wording import about, amount, duration, money
from holdfast.core.spans import Span

if TYPE_CHECKING:
    from holdfast.cli.client import Client

_WIDTH_IN_PIPES = 120
_NAME_SHARE, _SMALLEST_BAR = 0.4, 10
_BAR, _UNDER_WAY = "█", "░"
# A step and the model call in it say the same; the call has the tokens.
_FOLDED = "step"


def trace(
    chat: ChatWord,
    turn: Annotated[int | None, typer.Option("--turn", "-t", min=0, help="Only this turn.")] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show where a chat spent its time. Turns, model calls and tool calls with start, duration and cost."""

    async def read(client: "Client") -> list[Span]:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        path = f"/chats/{found.id}/trace"
        return [span async for span in client.every(path, Span, {"turn": turn})]

    spans = with_server(url, read)
    if as_json:
        print_json(spans)
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH_IN_PIPES
    for line in waterfall(spans, width):
        print(line)
    if not spans:
        print("Nothing has happened in this chat yet.")


def waterfall(spans: Sequence[Span], width: int) -> list[str]:
    """A line a span: its name below its parent's, a bar where it was in its turn, its duration, its cost."""
    lines: list[str] = []
    for number in dict.fromkeys(span.turn for span in spans):
        own = [span for span in spans if span.turn == number]
        begin, end = _extent(own)
        for span, depth in _tree(own):
            lines.append(_line(span, depth, begin, end, width))
        lines.append("")
    return lines[:-1]


def _tree(spans: Sequence[Span]) -> Iterable[tuple[Span, int]]:
    """Parents before their children, each with its depth; steps give their place to what is in them."""
    ids = {span.id for span in spans}
    children: dict[str | None, list[Span]] = {}
    for span in spans:
        children.setdefault(span.parent_id if span.parent_id in ids else None, []).append(span)

    def walk(parent: str | None, depth: int) -> Iterable[tuple[Span, int]]:
        for span in children.get(parent, ()):
            folded = span.kind == _FOLDED and span.id in children
            if not folded:
                yield span, depth
            yield from walk(span.id, depth if folded else depth + 1)

    return walk(None, 0)


def _line(span: Span, depth: int, begin: datetime | None, end: datetime | None, width: int) -> str:
    told = _told(span)
    names = int(width * _NAME_SHARE)
    name = neutral_line(_name(span), max(names - 2 * depth, 8))
    bar = max(width - names - 34, _SMALLEST_BAR)
    return f"{'  ' * depth}{name}".ljust(names)[:names] + f" {_bar(span, begin, end, bar)} {told}".rstrip()


def _name(span: Span) -> str:
    if span.kind == "turn":
        return f"turn {span.turn}: {about(span.input, 200) or span.name}"
    what = about(span.input, 200) if span.kind == "tool_call" else ""
    return f"{span.name} {what}".rstrip()


def _told(span: Span) -> str:
    words: list[str] = []
    if span.duration_ms is not None:
        words.append(f"{'~' if span.estimated else ''}{duration(span.duration_ms / 1000)}")
    elif span.started_at is not None:
        words.append("under way")
    usage = span.usage
    if usage is not None and usage.total:
        words.append(f"{amount(usage.input)} in {amount(usage.output)} out")
        if usage.cost_usd_micros:
            words.append(money(usage.cost_usd_micros))
    if span.outcome not in (None, "finished", "succeeded"):
        words.append(span.failure.kind if span.failure is not None else str(span.outcome))
    return " · ".join(words)


def _extent(spans: Sequence[Span]) -> tuple[datetime | None, datetime | None]:
    times = [at for span in spans for at in (span.started_at, span.finished_at) if at is not None]
    return (min(times), max(times)) if times else (None, None)


def _bar(span: Span, begin: datetime | None, end: datetime | None, width: int) -> str:
    """Where the span was between the two, at least one cell wide."""
    if span.started_at is None or begin is None or end is None:
        return " " * width
    whole = max((end - begin).total_seconds(), 0.001)
    start = round((span.started_at - begin).total_seconds() / whole * width)
    stop = round(((span.finished_at or end) - begin).total_seconds() / whole * width)
    start = min(start, width - 1)
    cells = max(stop - start, 1)
    mark = _BAR if span.finished_at is not None else _UNDER_WAY
    return (" " * start + mark * cells).ljust(width)[:width]
