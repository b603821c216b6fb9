"""`holdfast logs`: what was said and done in a chat, and with -f what goes on in it."""

import sys
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import ChatWord, Url, print_json, with_server

if TYPE_CHECKING:
    from holdfast.cli.client import Client
    from holdfast.cli.entries import Entry
    from holdfast.cli.outputs import TurnOutput
    from holdfast.core.chats import Chat
    from holdfast.core.ids import ChatId


def logs(
    chat: ChatWord,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep streaming until Ctrl-C.")] = False,
    tail: Annotated[
        int | None,
        typer.Option("--tail", "-n", min=1, max=1000, help="Start with the last N messages."),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print each message as a line of JSON; with -f, each feed event."),
    ] = False,
    url: Url = None,
) -> None:
    """Show the messages and tool calls of a chat."""

    async def shown(client: "Client") -> None:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        if follow:
            await _follow(client, found.id, tail, as_json)
        else:
            await _history(client, found, tail, as_json)

    with_server(url, shown)


async def _history(client: "Client", chat: "Chat", tail: int | None, as_json: bool) -> None:
    from holdfast.cli.transcript import Transcript
    from holdfast.core.feed_events import MessageData
    from holdfast.core.messages import Message

    history = [message async for message in client.every(f"/chats/{chat.id}/messages", Message)]
    transcript, printer = Transcript(), Printer()
    for message in history if tail is None else history[-tail:]:
        if as_json:
            print_json(message)
        else:
            printer.print(transcript.apply(MessageData(message=message)))
    if chat.last_error is not None and not as_json:
        # Of a turn that failed nothing else is in the history.
        printer.print(transcript.apply(chat.last_error))


async def _follow(client: "Client", chat_id: "ChatId", tail: int | None, as_json: bool) -> None:
    from holdfast.cli.feed_client import watch

    output = _output(as_json)
    try:
        async with aclosing(watch(client, chat_id, tail=tail)) as feed:
            async for seen in feed:
                if seen.received is not None:
                    output.received(seen.received)
                if seen.event is not None:
                    output.show(output.transcript.apply(seen.event))
    finally:
        output.end()


def _output(as_json: bool) -> "TurnOutput":
    from holdfast.cli import outputs

    if as_json:
        return outputs.TurnAsJson()
    if not sys.stdout.isatty():
        return outputs.PlainLog(sys.stdout)
    from holdfast.cli.terminal.follow import Followed

    return Followed(sys.stdout, with_questions=True)


class Printer:
    """In colour on a terminal, plain elsewhere."""

    def __init__(self) -> None:
        self._pretty = None
        if sys.stdout.isatty():
            from holdfast.cli.terminal.pretty import Pretty

            self._pretty = Pretty()

    def print(self, entries: "Sequence[Entry]") -> None:
        if self._pretty is not None:
            import shutil

            sys.stdout.write(self._pretty.show(entries, shutil.get_terminal_size().columns))
        else:
            from holdfast.cli.plain import plain

            sys.stdout.writelines(f"{plain(entry)}\n" for entry in entries)
        sys.stdout.flush()
