"""Changes as a list for people: pages of it, and how much of their lines an answer holds."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack

from msgspec.structs import replace

from holdfast.changes.advice import advice
from holdfast.changes.checkpoints import Checkpoints
from holdfast.changes.entries import Contents
from holdfast.changes.listing import Chain, ListedChain, chains, shown_chain, text_in, with_renames
from holdfast.changes.objects import Objects
from holdfast.changes.parse_advice import CheckedTexts, parse_advice, texts_to_check
from holdfast.core.changes import ChangeShown, FileChange
from holdfast.core.chats import Chat
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import CallId, ChatId, MessageId
from holdfast.store import changes, collisions
from holdfast.store.interface import Store
from holdfast.workspaces.blocking import finishing
from holdfast.workspaces.code.parse_checks import ParseChecks

# Of one answer; the lines of the other changes are read one by one.
DIFFS_CHARACTERS = 2_000_000


class ChangeList:
    def __init__(self, store: Store, checkpoints: Checkpoints, parses: ParseChecks) -> None:
        self._parses = parses
        self._store = store
        self._checkpoints = checkpoints

    async def all(self, chat: Chat, rows: Iterable[FileChange]) -> tuple[ChangeShown, ...]:
        return await self._shown(chat, _listed(rows))

    async def page(
        self, chat: Chat, rows: Sequence[FileChange], limit: int, after: str | None
    ) -> tuple[tuple[ChangeShown, ...], str | None]:
        """By path. `after`: the last change of the page before, which may go on meanwhile; also answered is
        what to go on after. InvalidInput: there is no such change."""
        found = _listed(rows)
        if after is not None:
            last = next((row for row in rows if row.id == after), None)
            if last is None:
                raise InvalidInput("This is not a cursor of this list.", field="cursor")
            found = [one for one in found if (one.chain.path, one.chain.last.id) > (last.path, last.id)]
        here = found[:limit]
        return await self._advised(chat, here), here[-1].chain.last.id if len(found) > limit else None

    async def one(self, chat: Chat, rows: Iterable[FileChange], change_id: str) -> ChangeShown:
        wanted = [one for one in _listed(rows) if one.chain.last.id == change_id]
        if not wanted:
            raise NotFound("There is no such change, or there is a newer one of the same file.")
        (item,) = await self._advised(chat, wanted)
        return item

    async def _advised(self, chat: Chat, found: Sequence[ListedChain]) -> tuple[ChangeShown, ...]:
        texts: dict[str, CheckedTexts] = {}
        items = await self._shown(chat, found, texts)
        said = await parse_advice(self._parses, texts)
        return tuple(
            replace(item, advice=(*said[item.id], *item.advice)) if item.id in said else item
            for item in items
        )

    async def _shown(
        self, chat: Chat, found: Sequence[ListedChain], texts: dict[str, CheckedTexts] | None = None
    ) -> tuple[ChangeShown, ...]:
        """`texts` takes what is to be parsed."""
        if not found:
            return ()
        told, made_by = await self._store.read(
            collisions.of_chat(chat.id), changes.messages_of_calls(chat.id)
        )
        collided = {one.path: [each for each in one.chats if each != chat.id] for one in told}
        async with AsyncExitStack() as stack:
            shadows = [
                await stack.enter_async_context(self._checkpoints.alone(place))
                for place in sorted({one.chain.last.place for one in found})
            ]
            contents = _of_all([shadow.objects for shadow in shadows])

            def read() -> tuple[ChangeShown, ...]:
                items: list[ChangeShown] = []
                room = DIFFS_CHARACTERS
                for one in found:
                    item = _item(one, contents, chat, collided.get(one.chain.path, ()), texts)
                    item = replace(item, message_id=_message_of(one.chain, made_by))
                    # The first one always fits.
                    if len(item.diff) > room and items:
                        item = replace(item, diff="", diff_left_out=True)
                    room -= len(item.diff)
                    items.append(item)
                return tuple(items)

            return await finishing(read)


def _listed(rows: Iterable[FileChange]) -> list[ListedChain]:
    """Without what their own operations wrote."""
    found = chains(row for row in rows if row.step)
    return with_renames([chain for chain in found if not chain.is_nothing and not _is_directory(chain)])


def _item(
    one: ListedChain,
    contents: Contents,
    chat: Chat,
    collided: Sequence[ChatId],
    texts: dict[str, CheckedTexts] | None,
) -> ChangeShown:
    item, chain = shown_chain(one, contents, chat.id, collisions=collided), one.chain
    if item.state not in ("pending", "applied"):
        return item
    before, after = text_in(chain.before, contents), text_in(chain.after, contents)
    if texts is not None and (checked := texts_to_check(chain, before, after)) is not None:
        texts[item.id] = checked
    return replace(item, advice=advice(chain.path, before, after))


def _message_of(chain: Chain, made_by: Mapping[tuple[ChatId, CallId], MessageId]) -> MessageId | None:
    """The message whose call made the last of these changes."""
    last = chain.last
    return None if last.call_id is None else made_by.get((last.chat_id, last.call_id))


def _of_all(kept: Sequence[Objects]) -> Contents:
    def contents(name: str) -> bytes | None:
        return next((data for objects in kept if (data := objects.get(name)) is not None), None)

    return contents


def _is_directory(chain: Chain) -> bool:
    return all(state is None or state.kind == "directory" for state in (chain.before, chain.after))
