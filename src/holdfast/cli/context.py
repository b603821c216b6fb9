"""`holdfast context`: what fills the context of a chat."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

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
    error: str | None = None
    drift: Literal["changed", "added", "removed"] | None = None


class Filled(Record, frozen=True, kw_only=True):
    used: int
    limit: int | None
    threshold: int
    segments: tuple[Filling, ...]
    instructions: str = "none"


def context(
    chat: ChatWord,
    renew: Annotated[
        bool,
        typer.Option(
            "--use-new-text", help="Give the agent its instruction files and skills as they are on disk now."
        ),
    ] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show what fills the context of a chat. System prompt, tools, messages and files by size."""

    async def read(client: "Client") -> Filled:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        return await read_context(client, found.id, renew=renew)

    filled = with_server(url, read)
    if as_json:
        print_json(filled)
        return
    for line in context_lines(filled):
        print(line)


async def read_context(client: "Client", chat_id: str, *, renew: bool) -> Filled:
    if renew:
        from holdfast.core.chats import Chat

        await client.post(f"/chats/{chat_id}/context/instructions", Chat)
    return await client.get(f"/chats/{chat_id}/context", Filled)


def context_lines(filled: Filled, *, word: str = "--use-new-text") -> list[str]:
    """The whole, then each kind with its largest segments, and all that something is wrong with. `word`: what
    asks for the new text of instructions."""
    limit = "" if not filled.limit else f" of {amount(filled.limit)} ({filled.used * 100 // filled.limit} %)"
    lines = [f"{amount(filled.used)} tokens{limit}; history is summarised at {filled.threshold} %"]
    for kind in dict.fromkeys(segment.kind for segment in filled.segments):
        own = [segment for segment in filled.segments if segment.kind == kind]
        lines.append(f"{amount(sum(segment.tokens for segment in own)):>8}  {kind}")
        ordered = sorted(own, key=lambda segment: segment.tokens, reverse=True)
        shown = [one for at, one in enumerate(ordered) if at < LARGEST or one.error or one.drift]
        lines += [f"{amount(one.tokens):>12}  {neutral_line(one.label, 80)}{_remark(one)}" for one in shown]
        if len(own) > len(shown):
            lines.append(f"{'':>12}  and {len(own) - len(shown)} more")
    match filled.instructions:
        case "changed":
            lines.append(f"Files changed since the agent was told; {word} gives it the new text.")
        case "renewing":
            lines.append("The agent gets the new text of the instructions with its next step.")
        case _:
            pass
    return lines


_DRIFTS = {"changed": "changed on disk", "added": "new on disk", "removed": "no longer on disk"}


def _remark(one: Filling) -> str:
    words = [_DRIFTS[one.drift]] if one.drift is not None else []
    words += [neutral_line(one.error, 120)] if one.error is not None else []
    return f" ({'; '.join(words)})" if words else ""
