"""`holdfast run`: one turn. Its text goes to standard output while it is said; how it ended is the exit
code."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.chats import Sent
from holdfast.cli.options import ModelName, Url, WorkspaceName, with_server

if TYPE_CHECKING:
    from holdfast.cli.client import Client
    from holdfast.cli.outputs import Output
    from holdfast.cli.turn import End
    from holdfast.core.ids import ChatId

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Errand:
    prompt: str
    chat: str | None = None
    model: str | None = None
    workspace: str | None = None


def run(
    prompt: Annotated[str, typer.Argument(help="What to do; `-` reads it from standard input.")],
    model: ModelName = None,
    chat: Annotated[
        str | None,
        typer.Option("--chat", "-c", help="Go on with this chat (an id, or `last`), not a new one."),
    ] = None,
    workspace: WorkspaceName = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Every event of the chat's feed as one line of JSON.")
    ] = False,
    url: Url = None,
) -> None:
    """Run one turn and stream what the agent says. Control characters in it are shown, not obeyed; --json
    has everything exactly. Exit code 0: done; 1: it failed or needs a person; 130: interrupted (Ctrl-C
    interrupts the turn, a second one leaves at once)."""
    text = sys.stdin.read() if prompt == "-" else prompt
    errand = Errand(text, chat, model, workspace)
    raise typer.Exit(with_server(url, lambda client: one_turn(client, errand, _output(as_json))).code)


def _output(as_json: bool) -> "Output":
    from holdfast.cli import outputs

    if as_json:
        return outputs.TurnAsJson()
    if not sys.stdout.isatty():
        return outputs.PlainText(sys.stdout)
    from holdfast.cli.terminal.follow import Followed

    return Followed(sys.stdout)


@dataclass(frozen=True, slots=True)
class Turned:
    """How a turn ended, as an exit code, and in which chat; None: before there was one."""

    code: int
    chat_id: "ChatId | None"


async def one_turn(client: "Client", errand: Errand, output: "Output") -> Turned:
    from holdfast.cli.ctrl_c import CtrlC

    begun: asyncio.Future[ChatId] = asyncio.get_running_loop().create_future()
    following = asyncio.create_task(_follow(client, errand, output, begun.set_result))
    async with CtrlC(client, begun, following, lambda chat_id: f"/chats/{chat_id}/interrupt") as ctrl_c:
        try:
            chat_id, end = await following
        except asyncio.CancelledError:
            if not ctrl_c.pressed:
                raise
            return Turned(INTERRUPTED, None)
        finally:
            output.end()
    return Turned(INTERRUPTED if ctrl_c.pressed else _tell(chat_id, end), chat_id)


async def _follow(
    client: "Client", errand: Errand, output: "Output", begun: "Callable[[ChatId], None]"
) -> "tuple[ChatId, End]":
    """Sends the message and watches until its turn is over."""
    from holdfast.cli.chosen import find_chat
    from holdfast.cli.events import CaughtUp
    from holdfast.cli.turn import OwnTurn
    from holdfast.cli.watching import watch

    turn = OwnTurn()
    there = None if errand.chat is None else await find_chat(client, errand.chat)
    if there is None:
        chat_id = await _create(client, errand)
        turn.sent()
        begun(chat_id)
    else:
        chat_id = there.id
    transcript = output.transcript
    async with aclosing(watch(client, chat_id, tail=None if there is None else 1)) as feed:
        async for seen in feed:
            if seen.received is not None:
                output.received(seen.received)
            if seen.event is None:
                continue
            entries = transcript.apply(seen.event)
            end = turn.apply(seen.event, transcript)
            if turn.begun:
                output.show(entries)
            if end is not None:
                return chat_id, end
            if isinstance(seen.event, CaughtUp) and not turn.is_sent:
                # Watched first, then said: nothing of the turn can be missed.
                body = {"content": errand.prompt, "model": errand.model}
                sent = await client.post(f"/chats/{chat_id}/messages", Sent, body)
                message, item = sent.message, sent.queued
                turn.sent(message.id if message else None, item.id if item else None)
                begun(chat_id)
    raise AssertionError("a feed does not end by itself")


async def _create(client: "Client", errand: Errand) -> "ChatId":
    from holdfast.cli.chosen import find_workspace
    from holdfast.core.chats import Chat

    body: dict[str, object] = {"content": errand.prompt}
    if errand.model is not None:
        body["model"] = errand.model
    if (workspace := await find_workspace(client, errand.workspace)) is not None:
        body["workspace_id"] = workspace
    return (await client.post("/chats", Chat, body)).id


def _tell(chat_id: "ChatId", end: "End") -> int:
    from holdfast.cli.wording import failure

    match end.how:
        case "finished":
            return 0
        case "interrupted":
            print("holdfast: Somebody interrupted the turn.", file=sys.stderr)
            return INTERRUPTED
        case "failed":
            why = "The turn failed." if end.failure is None else failure(end.failure)
            print(f"holdfast: {why}", file=sys.stderr)
            return 1
        case "needs_you":
            print(
                f"holdfast: It needs a person ({end.what}). Answer it with: holdfast attach {chat_id}",
                file=sys.stderr,
            )
            return 1
