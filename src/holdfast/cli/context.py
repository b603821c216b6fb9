"""`holdfast context`: what fills the context of a chat."""

from typing import TYPE_CHECKING

from holdfast.cli.options import AsJson, ChatWord, Url, print_json, with_server
from holdfast.cli.safe_text import neutral_line
from holdfast.cli.wording import amount
from holdfast.core.segments import SegmentKind
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

# Of each kind.
LARGEST = 8


class Filling(Record, frozen=True, kw_only=True):
    kind: SegmentKind
    label: str
    tokens: int


class Filled(Record, frozen=True, kw_only=True):
    used: int
    limit: int | None
    threshold: int
    segments: tuple[Filling, ...]


def context(chat: ChatWord, as_json: AsJson = False, url: Url = None) -> None:
    """Show what fills the context of a chat. System prompt, tools, messages and files by size."""

    async def read(client: "Client") -> Filled:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        return await client.get(f"/chats/{found.id}/context", Filled)

    filled = with_server(url, read)
    if as_json:
        print_json(filled)
        return
    for line in context_lines(filled):
        print(line)


def context_lines(filled: Filled) -> list[str]:
    """The whole, then each kind with its largest segments."""
    limit = "" if not filled.limit else f" of {amount(filled.limit)} ({filled.used * 100 // filled.limit} %)"
    lines = [f"{amount(filled.used)} tokens{limit}; history is summarised at {filled.threshold} %"]
    for kind in dict.fromkeys(segment.kind for segment in filled.segments):
        own = [segment for segment in filled.segments if segment.kind == kind]
        lines.append(f"{amount(sum(segment.tokens for segment in own)):>8}  {kind}")
        largest = sorted(own, key=lambda segment: segment.tokens, reverse=True)[:LARGEST]
        lines += [f"{amount(one.tokens):>12}  {neutral_line(one.label, 80)}" for one in largest]
        if len(own) > LARGEST:
            lines.append(f"{'':>12}  and {len(own) - LARGEST} more")
    return lines
