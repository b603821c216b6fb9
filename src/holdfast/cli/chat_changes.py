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
    typer.Argument(metavar="CHAT...", help="Chats: ids, parts of ids, or `last`."),
]


class EditedMessage(Record, frozen=True, kw_only=True):
    message: Message


def fork(
    chat: ChatWord,
    message: Annotated[
        str | None,
        typer.Option("--at", metavar="MESSAGE", help="Copy up to this message id. Default: everything."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the copy.")] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Copy a chat with its history. The two continue independently."""

    async def forked(client: "Client") -> Chat:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        return await client.post(f"/chats/{found.id}/fork", Chat, {"message_id": message, "title": title})

    copy = with_server(url, forked)
    print_json(copy) if as_json else print(f"{copy.id}\nGo on there with: holdfast chat {copy.id}")


def edit(
    chat: ChatWord,
    text: Annotated[str, typer.Argument(help="The new message; `-` reads it from standard input.")],
    message: Annotated[
        str | None,
        typer.Option(
            "--message",
            "-i",
            metavar="MESSAGE",
            help="Id of the message to replace. Default: your last one.",
        ),
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Replace a message you sent. Later messages are removed and the agent answers again."""
    content = sys.stdin.read() if text == "-" else text

    async def edited(client: "Client") -> Message:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        message_id = message or await last_said(client, found.id)
        path = f"/chats/{found.id}/messages/{message_id}"
        return (await client.request("PATCH", path, EditedMessage, body={"content": content})).message

    said = with_server(url, edited)
    print_json(said) if as_json else print("Replaced. `holdfast logs -f last` shows the answer.")


async def last_said(client: "Client", chat_id: str) -> str:
    history = [message async for message in client.every(f"/chats/{chat_id}/messages", Message)]
    said = next((message.id for message in reversed(history) if message.role == "user"), None)
    if said is None:
        raise NotFound("This chat has no messages of yours.")
    return said


def archive(chats: ChatWords, as_json: AsJson = False, url: Url = None) -> None:
    """Archive chats. They stay readable; `ps --all` lists them."""
    _set_archived(chats, True, as_json, url)


def unarchive(chats: ChatWords, as_json: AsJson = False, url: Url = None) -> None:
    """Restore archived chats."""
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
    sure: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    url: Url = None,
) -> None:
    """Permanently delete chats and their sub-agents. Whatever they are running is stopped."""
    if not sure and not sys.stdin.isatty():
        raise WrongUsage("This cannot be undone. Add --yes to confirm without a terminal.")

    async def deleted(client: "Client") -> int:
        from holdfast.cli.asking import is_sure
        from holdfast.cli.lookups import find_chat
        from holdfast.cli.wording import title

        found = [await find_chat(client, word, archived=None) for word in chats]
        names = "".join(f"\n  {one.id}  {title(one)}" for one in found)
        if not sure and not is_sure(f"Permanently delete:{names}\nAre you sure?"):
            return 0
        for one in found:
            await client.request("DELETE", f"/chats/{one.id}", type(None))
        return len(found)

    count = with_server(url, deleted)
    print(f"{count} deleted." if count else "Nothing was deleted.")
