"""`holdfast chat` and `holdfast attach`: talk with an agent on a terminal; in a pipe, line by line."""

import os
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast import __version__
from holdfast.cli.options import ChatWord, Effort, ModelName, Url, WorkspaceName, with_server
from holdfast.core.errors import WrongUsage
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client


def chat(
    word: Annotated[
        str | None,
        typer.Argument(metavar="[CHAT]", help="Continue this chat: its id, part of it, or `last`."),
    ] = None,
    last: Annotated[bool, typer.Option("--last", "-l", help="Continue the most recent chat.")] = False,
    model: ModelName = None,
    effort: Effort = None,
    workspace: WorkspaceName = None,
    url: Url = None,
) -> None:
    """Chat with an agent.

    A new chat works in the current directory. If that is not a workspace yet, you are asked once whether to
    make it one. /help lists the commands. Leaving does not stop the agent. In a pipe, each line of standard
    input is one message, and the answers go to standard output.
    """
    if word is not None and last:
        raise WrongUsage("Use a chat or --last, not both.")
    word = "last" if last else word
    if _on_terminal():
        _converse(url, word, model, effort, workspace)
    else:
        raise typer.Exit(with_server(url, lambda client: _by_line(client, word, model, effort, workspace)))


def attach(chat: ChatWord, url: Url = None) -> None:
    """Watch a chat and take part in it. Leaving does not stop the agent."""
    _converse(url, chat)


def _on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


async def _by_line(
    client: "Client", word: str | None, model: str | None, effort: str | None, workspace: str | None
) -> int:
    """One turn after the other, until the input ends or a turn does not come to a good end."""
    from holdfast.cli.errand import Errand
    from holdfast.cli.outputs import PlainText
    from holdfast.cli.run import in_workspace, one_turn

    while line := _next_line():
        if not line.strip():
            continue
        errand = Errand(line.rstrip("\n"), word, model, effort)
        if word is None:
            errand = await in_workspace(client, errand, workspace, ask=False)
        turned = await one_turn(client, errand, PlainText(sys.stdout))
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


def _converse(
    url: str | None,
    word: str | None,
    model: str | None = None,
    effort: str | None = None,
    workspace: str | None = None,
) -> None:
    if not _on_terminal():
        raise WrongUsage("This needs a terminal. In pipes use `holdfast send` and `holdfast logs -f`.")

    async def talk(client: "Client") -> int:
        from holdfast.cli.asking import yes
        from holdfast.cli.conversation.deeds import Deeds
        from holdfast.cli.conversation.session import ConversationScreen
        from holdfast.cli.lookups import find_chat
        from holdfast.cli.remembered import typed_lines
        from holdfast.cli.safe_text import neutral
        from holdfast.cli.users import MeAnswer
        from holdfast.cli.wording import title
        from holdfast.cli.workspace_choice import Choice, choose

        # Said at once, before the terminal changes, if nobody answers or the token is worth nothing.
        await client.get("/session", MeAnswer)
        found = None if word is None else await find_chat(client, word)
        place = Choice() if found is not None else await choose(client, workspace, os.environ, yes)
        deeds = Deeds(
            client,
            None if found is None else found.id,
            model=model,
            effort=effort,
            workspace_id=place.workspace_id,
        )
        session = ConversationScreen(client, deeds, typed_lines(os.environ))
        session.say(f"Holdfast {__version__} · {client.url} · /help lists commands, Ctrl-D exits", "dim")
        if found is None and (await client.get("/settings", _Settings)).demo:
            session.say(_demo_offer(), "dim")
        if found is not None:
            session.say(f"{title(found)} · {found.id}", "bold")
        if place.note:
            session.say(place.note, "dim")
        try:
            return await session.run()
        finally:
            for text in session.unsent:
                print(f"Not sent: {neutral(text)}")
            if deeds.chat_id is not None:
                print(f"Resume with: holdfast chat {deeds.chat_id}")

    raise typer.Exit(with_server(url, talk))


class _Settings(Record, frozen=True, kw_only=True):
    demo: bool


def _demo_offer() -> str:
    """What can be tried without a key, as on the page."""
    from holdfast.providers.demo_plays import OFFERED

    return f"This is the demo model. Try: {' · '.join(OFFERED)}"
