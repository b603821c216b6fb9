"""The things that people name: chats by part of their id, workspaces and users by name."""

from holdfast.cli.client import Client
from holdfast.cli.wording import short, title
from holdfast.core.accounts import User
from holdfast.core.chats import Chat
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.ids import is_uuid7
from holdfast.core.shapes import Record

LAST = "last"
# How far back the part of an id is looked for.
_LOOKED_AT = 200
_SHORTEST = 4


async def find_chat(client: Client, word: str) -> Chat:
    if is_uuid7(word):
        return await client.get(f"/chats/{word}", Chat)
    if word == LAST:
        return await last_chat(client)
    if len(word) < _SHORTEST or not all(digit in "0123456789abcdef-" for digit in word):
        raise WrongUsage(f"A chat is named by its id, by at least {_SHORTEST} digits of it, or by `{LAST}`.")
    found = [
        chat
        for chat in await client.listed("/chats", Chat, {"limit": _LOOKED_AT})
        if chat.id.startswith(word) or chat.id.endswith(word)
    ]
    match found:
        case [chat]:
            return chat
        case []:
            raise NotFound(
                f"None of your newest {_LOOKED_AT} chats has an id with {word}; `holdfast ps` lists them."
            )
        case _:
            several = ", ".join(f"{short(chat.id)} ({title(chat, 30)})" for chat in found[:5])
            raise WrongUsage(f"{word} may be several chats: {several}. Give more digits.")


async def last_chat(client: Client) -> Chat:
    found = await client.listed("/chats", Chat, {"limit": 1})
    if not found:
        raise NotFound("There is no chat yet; `holdfast chat` begins one.")
    return found[0]


class Workspace(Record, frozen=True, kw_only=True):
    id: str
    name: str


async def find_workspace(client: Client, word: str | None) -> str | None:
    """Its id; None when none is wanted."""
    if word is None or is_uuid7(word):
        return word
    try:
        async for workspace in client.every("/workspaces", Workspace):
            if workspace.name == word:
                return workspace.id
    except Refused as error:
        if error.problem != "not_found":
            raise
    raise NotFound(f"There is no workspace {word!r}.")


async def find_user(client: Client, name: str) -> User:
    async for user in client.every("/users", User):
        if name in (user.name, user.id):
            return user
    raise NotFound(f"There is no user {name!r}; `holdfast user list` lists them.")
