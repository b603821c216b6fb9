"""`holdfast ps`, `send` and `stop`: chats from outside, without watching them."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, ChatWord, Url, print_json, with_server
from holdfast.core.chats import Chat, Status
from holdfast.core.errors import WrongUsage
from holdfast.core.messages import Busy, Message, QueueItem
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client


class SentAnswer(Record, frozen=True, kw_only=True, omit_defaults=True):
    """`message` when it entered the history, `queued` when it waits its turn."""

    message: Message | None = None
    queued: QueueItem | None = None


def ps(
    everything: Annotated[bool, typer.Option("--all", "-a", help="Include archived chats.")] = False,
    words: Annotated[
        str | None, typer.Option("--search", "-s", help="Only chats that contain these words.")
    ] = None,
    status: Annotated[Status | None, typer.Option(help="Only chats in this state.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Maximum number to list.")] = 20,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List your chats and which of them need you. Most recently active first."""
    from holdfast.cli.tables import print_table

    async def listed(client: "Client") -> tuple[Chat, ...]:
        wanted = {"limit": limit, "q": words, "status": status}
        chats = await client.listed("/chats", Chat, {**wanted, "archived": False})
        if not everything:
            return chats
        archived = await client.listed("/chats", Chat, {**wanted, "archived": True})
        return tuple(sorted((*chats, *archived), key=lambda chat: chat.updated_at, reverse=True)[:limit])

    chats = with_server(url, listed)
    if as_json:
        print_json(chats)
    elif chats:
        now = datetime.now(UTC)
        print_table(
            ("id", "state", "needs you", "queue", "active", "title"), [_row(chat, now) for chat in chats]
        )
    else:
        print(
            "No chats yet. `holdfast chat` starts one."
            if words is None and status is None
            else "No chats match."
        )


def _row(chat: Chat, now: datetime) -> tuple[str, ...]:
    from holdfast.cli.wording import ago, needs, short, state, title

    doing = "archived" if chat.archived else state(chat.status, chat.waiting)
    return (
        short(chat.id),
        doing,
        needs(chat) or "-",
        str(chat.queue_length or "-"),
        ago(chat.updated_at, now),
        title(chat),
    )


def send(
    chat: ChatWord,
    text: Annotated[str, typer.Argument(help="The message; `-` reads it from standard input.")],
    steer: Annotated[
        bool, typer.Option("--steer", help="While the agent works: add this before its next step.")
    ] = False,
    interrupt: Annotated[
        bool, typer.Option("--interrupt", help="While the agent works: stop it and continue with this.")
    ] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Send a message to a chat. While the agent is working it is queued, unless you choose otherwise."""
    if steer and interrupt:
        raise WrongUsage("Use --steer or --interrupt, not both.")
    busy: Busy = "steer" if steer else "interrupt" if interrupt else "queue"
    content = sys.stdin.read() if text == "-" else text

    async def sent(client: "Client") -> SentAnswer:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        return await client.post(
            f"/chats/{found.id}/messages", SentAnswer, {"content": content, "busy": busy}
        )

    answer = with_server(url, sent)
    if as_json:
        print_json(answer)
    elif answer.queued is not None:
        print(f"Queued at position {answer.queued.position + 1}.")
    else:
        print("Sent.")


def stop(chat: ChatWord, as_json: AsJson = False, url: Url = None) -> None:
    """Interrupt the agent in a chat. Its output so far is kept, and the queue continues."""

    async def stopped(client: "Client") -> Chat:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        return await client.post(f"/chats/{found.id}/interrupt", Chat)

    answer = with_server(url, stopped)
    print_json(answer) if as_json else print("Stopping.")
