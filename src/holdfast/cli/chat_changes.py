"""`holdfast fork`, `edit`, `archive`, `unarchive`, `delete`: a chat as a whole, and what was said in it."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, ChatWord, Url, print_json, with_server
from holdfast.core.chats import Chat
from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.messages import Message
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

ChatWords = Annotated[
    list[str],
    typer.Argument(metavar="CHAT...", help="Chats: their ids, parts of them, or `last`."),
]


class EditedMessage(Record, frozen=True, kw_only=True):
    message: Message


def fork(
    chat: ChatWord,
    message: Annotated[
        str | None, typer.Option("--at", metavar="MESSAGE", help="Up to this message, by its id; else all.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title of the copy.")] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Copy a chat with its history. The copy goes its own way."""

    async def forked(client: "Client") -> Chat:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        return await client.post(f"/chats/{found.id}/fork", Chat, {"message_id": message, "title": title})

    copy = with_server(url, forked)
    print_json(copy) if as_json else print(f"{copy.id}\nGo on there with: holdfast chat {copy.id}")


def edit(
    chat: ChatWord,
    text: Annotated[str, typer.Argument(help="What to say instead; `-` reads it from standard input.")],
    message: Annotated[
        str | None,
        typer.Option(
            "--message",
            "-i",
            metavar="MESSAGE",
            help="The message to replace, by its id; else your last one.",
        ),
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Replace something you said. What came after it is removed, and the agent answers anew."""
    content = sys.stdin.read() if text == "-" else text

    async def edited(client: "Client") -> Message:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        message_id = message or await _last_said(client, found)
        path = f"/chats/{found.id}/messages/{message_id}"
        return (await client.request("PATCH", path, EditedMessage, body={"content": content})).message

    said = with_server(url, edited)
    print_json(said) if as_json else print("Replaced. `holdfast logs -f last` shows the answer.")


async def _last_said(client: "Client", chat: Chat) -> str:
    history = [message async for message in client.every(f"/chats/{chat.id}/messages", Message)]
    said = next((message.id for message in reversed(history) if message.role == "user"), None)
    if said is None:
        raise NotFound("Nobody has said anything in this chat.")
    return said


def archive(chats: ChatWords, as_json: AsJson = False, url: Url = None) -> None:
    """Put chats away. They stay readable; `ps --all` lists them."""
    _set_archived(chats, True, as_json, url)


def unarchive(chats: ChatWords, as_json: AsJson = False, url: Url = None) -> None:
    """Bring archived chats back."""
    _set_archived(chats, False, as_json, url)


def _set_archived(words: list[str], archived: bool, as_json: bool, url: str | None) -> None:
    async def changed(client: "Client") -> list[Chat]:
        from holdfast.cli.lookups import find_chat

        found = [await find_chat(client, word, archived=not archived) for word in words]
        return [
            await client.request("PATCH", f"/chats/{one.id}", Chat, body={"archived": archived})
            for one in found
        ]

    done = with_server(url, changed)
    if as_json:
        print_json(done)
    else:
        print(f"{len(done)} {'archived' if archived else 'brought back'}.")


def delete(
    chats: ChatWords,
    sure: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: Url = None,
) -> None:
    """Delete chats for good, with their sub-agents. What they run is ended."""
    if not sure and not sys.stdin.isatty():
        raise WrongUsage("This cannot be undone. Give --yes where nobody can be asked.")

    async def deleted(client: "Client") -> int:
        from holdfast.cli.asking import is_sure
        from holdfast.cli.lookups import find_chat
        from holdfast.cli.wording import title

        found = [await find_chat(client, word, archived=None) for word in chats]
        names = "".join(f"\n  {one.id}  {title(one)}" for one in found)
        if not sure and not is_sure(f"Delete for good:{names}\nAre you sure?"):
            return 0
        for one in found:
            await client.request("DELETE", f"/chats/{one.id}", type(None))
        return len(found)

    count = with_server(url, deleted)
    print(f"{count} deleted." if count else "Nothing was deleted.")
