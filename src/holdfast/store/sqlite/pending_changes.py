"""Changes that were decided in the current transaction but are not in its rows yet. Commands for one chat
that wait together are each decided on the result of the one before, and written once; before anybody reads
the rows, pending changes are written."""

from dataclasses import dataclass, field

from holdfast.chats.change import Change
from holdfast.chats.view import Execution, View
from holdfast.core.errors import Bug
from holdfast.core.ids import ChatId
from holdfast.store.fold import folded
from holdfast.store.sqlite.apply import run, statements_of
from holdfast.store.sqlite.connection import Connection


@dataclass(slots=True)
class _Chat:
    # As its rows are.
    before: Execution
    # As it will be.
    view: View
    changes: list[Change] = field(default_factory=list[Change])


class Unwritten:
    def __init__(self) -> None:
        self._chats: dict[ChatId, _Chat] = {}

    def forget(self) -> None:
        """A transaction starts, or was rolled back."""
        self._chats.clear()

    def view(self, chat_id: ChatId) -> View | None:
        """The chat as it will be; None: its rows are current."""
        found = self._chats.get(chat_id)
        return None if found is None else found.view

    def add(self, before: View, change: Change) -> None:
        """A change that others may be decided on (see `may_follow`)."""
        if change.after is None:
            raise Bug("a deletion does not wait")
        chat = self._chats.setdefault(change.chat_id, _Chat(before.chat, before))
        chat.view = change.after
        chat.changes.append(change)

    def write(self, connection: Connection) -> None:
        chats, self._chats = self._chats, {}
        for chat_id, chat in chats.items():
            if not run(connection, statements_of(folded(chat.changes), chat.before)):
                raise Bug(f"chat {chat_id} moved while it was being written")
