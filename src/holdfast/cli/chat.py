"""`holdfast chat` and `holdfast attach`: talk with an agent on a terminal; in a pipe, line by line."""

import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast import __version__
from holdfast.cli.options import ChatWord, ModelName, Url, WorkspaceName, with_server
from holdfast.core.errors import WrongUsage

if TYPE_CHECKING:
    from holdfast.cli.client import Client


def chat(
    word: Annotated[
        str | None,
        typer.Argument(metavar="[CHAT]", help="Go on with this chat: its id, a part of it, or `last`."),
    ] = None,
    last: Annotated[
        bool, typer.Option("--last", "-l", help="Go on with the chat that was last active.")
    ] = False,
    model: ModelName = None,
    workspace: WorkspaceName = None,
    url: Url = None,
) -> None:
    """Talk with an agent, in a new chat or an old one. /help lists the commands; leaving stops nothing.
    In a pipe every line of standard input is a message, and what the agent says goes to standard output."""
    if word is not None and last:
        raise WrongUsage("Give a chat or --last, not both.")
    word = "last" if last else word
    if _on_terminal():
        _converse(url, word, model, workspace)
    else:
        raise typer.Exit(with_server(url, lambda client: _by_line(client, word, model, workspace)))


def attach(chat: ChatWord, url: Url = None) -> None:
    """Watch a chat and take part in it: type, answer what it asks, interrupt. Leaving stops nothing."""
    _converse(url, chat, None, None)


def _on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


async def _by_line(client: "Client", word: str | None, model: str | None, workspace: str | None) -> int:
    """One turn after the other, until the input ends or a turn does not come to a good end."""
    from holdfast.cli.outputs import PlainText
    from holdfast.cli.run import Errand, one_turn

    while line := _next_line():
        if not line.strip():
            continue
        turned = await one_turn(
            client, Errand(line.rstrip("\n"), word, model, workspace), PlainText(sys.stdout)
        )
        if turned.code:
            return turned.code
        word = turned.chat_id
    return 0


def _next_line() -> str:
    """Nothing is under way while it is waited for, so this may block; Ctrl-C ends it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, before)


def _converse(url: str | None, word: str | None, model: str | None, workspace: str | None) -> None:
    if not _on_terminal():
        raise WrongUsage("This needs a terminal. In pipes use `holdfast send` and `holdfast logs -f`.")

    async def talk(client: "Client") -> int:
        from holdfast.cli.chosen import find_chat
        from holdfast.cli.conversation.deeds import Deeds
        from holdfast.cli.conversation.session import Session
        from holdfast.cli.users import Me
        from holdfast.cli.wording import title

        # Said at once, before the terminal changes, if nobody answers or the token is worth nothing.
        await client.get("/session", Me)
        found = None if word is None else await find_chat(client, word)
        deeds = Deeds(client, None if found is None else found.id, model, workspace)
        session = Session(client, deeds)
        session.say(f"Holdfast {__version__} · {client.url} · /help lists commands, Ctrl-D leaves", "dim")
        if found is not None:
            session.say(f"{title(found)} · {found.id}", "bold")
        code = await session.run()
        if deeds.chat_id is not None:
            print(f"Come back with: holdfast chat {deeds.chat_id}")
        return code

    raise typer.Exit(with_server(url, talk))
