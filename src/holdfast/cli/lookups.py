"""The things that people name: chats and runs by part of their id, users by name."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from holdfast.cli.client import Client
from holdfast.cli.safe_text import neutral_line
from holdfast.cli.wording import short, title
from holdfast.core.accounts import User
from holdfast.core.chats import Chat
from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.flow_shapes import FlowRunListed, FlowRunShown
from holdfast.core.ids import is_uuid7
from holdfast.core.run_shapes import RunListed, RunShown

T = TypeVar("T", Chat, RunListed, FlowRunListed)

LAST = "last"
# How far back the part of an id is looked for.
_LOOKED_AT = 200
_SHORTEST = 4


async def find_chat(client: Client, word: str, *, archived: bool | None = False) -> Chat:
    """Among those that are not archived, those that are, or all (None). A whole id is found anyway."""
    if is_uuid7(word):
        return await client.get(f"/chats/{word}", Chat)
    which = (False, True) if archived is None else (archived,)
    if word != LAST:
        _check_part("chat", word)
    found = [
        chat
        for one in which
        for chat in await client.listed("/chats", Chat, {"limit": _LOOKED_AT, "archived": one})
    ]
    if word != LAST:
        return _only("chat", word, found, title, "holdfast ps" if not archived else "holdfast ps --all")
    if not found:
        raise NotFound("There is no chat yet; `holdfast chat` starts one.")
    return max(found, key=lambda chat: chat.updated_at) if archived is None else found[0]


async def find_run(client: Client, word: str) -> RunShown:
    run_id = word if is_uuid7(word) else (await _listed_run(client, word)).id
    return await client.get(f"/workflow-runs/{run_id}", RunShown)


async def _listed_run(client: Client, word: str) -> RunListed:
    if word == LAST:
        newest = await client.listed("/workflow-runs", RunListed, {"limit": 1})
        if not newest:
            raise NotFound("There is no run yet; `holdfast workflow run` starts one.")
        return newest[0]
    _check_part("run", word)
    found = await client.listed("/workflow-runs", RunListed, {"limit": _LOOKED_AT})
    return _only("run", word, found, lambda run: neutral_line(run.name, 30), "holdfast workflow show")


async def find_flow_run(client: Client, word: str) -> FlowRunShown:
    run_id = word if is_uuid7(word) else (await _listed_flow_run(client, word)).id
    return await client.get(f"/flow-runs/{run_id}", FlowRunShown)


async def _listed_flow_run(client: Client, word: str) -> FlowRunListed:
    if word == LAST:
        newest = await client.listed("/flow-runs", FlowRunListed, {"limit": 1})
        if not newest:
            raise NotFound("There is no run yet; `holdfast flow run` starts one.")
        return newest[0]
    _check_part("run", word)
    found = await client.listed("/flow-runs", FlowRunListed, {"limit": _LOOKED_AT})
    return _only("run", word, found, lambda run: neutral_line(run.name, 30), "holdfast flow show")


def _check_part(kind: str, word: str) -> None:
    if len(word) < _SHORTEST or not all(digit in "0123456789abcdef-" for digit in word):
        raise WrongUsage(f"Give the {kind}'s id, at least {_SHORTEST} characters of it, or `{LAST}`.")


def _only(kind: str, word: str, listed: Sequence[T], name: Callable[[T], str], lister: str) -> T:
    """The one whose id begins or ends so."""
    match [one for one in listed if one.id.startswith(word) or one.id.endswith(word)]:
        case [one]:
            return one
        case []:
            raise NotFound(
                f"None of your latest {_LOOKED_AT} {kind}s has an id with {word}; `{lister}` lists them."
            )
        case several:
            shown = ", ".join(f"{short(one.id)} ({name(one)[:30]})" for one in several[:5])
            raise WrongUsage(f"{word} matches several {kind}s: {shown}. Give more characters.")


async def find_user(client: Client, name: str) -> User:
    async for user in client.every("/users", User):
        if name in (user.name, user.id):
            return user
    raise NotFound(f"There is no user {name!r}; `holdfast user list` lists them.")
