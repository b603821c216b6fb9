"""A chat's settings, and how a change is applied to them. A generated title never replaces a person's."""

from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.core.chats import Settings
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import ChatId
from holdfast.core.text import clean_deep
from holdfast.store.chat_rows import SETTINGS, settings_of, settings_row
from holdfast.store.columns import Written, listed
from holdfast.store.query import Query, Row, at_most_one, query
from holdfast.store.search_words import words_of

SELECT = f"SELECT {listed(SETTINGS)} FROM settings WHERE chat_id = $1"
# With whether the chat's owner wants the debug record of all their chats.
SELECT_WISHED = (
    f"SELECT {listed(SETTINGS, 's')}, EXISTS (SELECT 1 FROM preferences p "
    "WHERE p.owner = CAST(c.owner_id AS text) AND p.key = 'debug' AND p.value = 'true') "
    "FROM settings s JOIN chats c ON c.id = s.chat_id WHERE s.chat_id = $1"
)
UPDATE = (
    f"UPDATE settings SET {', '.join(f'{name} = ${n}' for n, name in enumerate(SETTINGS[1:], start=2))} "
    "WHERE chat_id = $1"
)
DROP_LABELS = "DELETE FROM labels WHERE chat_id = $1"

_NAMES = frozenset(Settings.__struct_fields__)


def settings(chat_id: ChatId) -> Query[Settings | None]:
    return query(SELECT, chat_id, read=at_most_one(settings_of))


def settings_and_wish(chat_id: ChatId) -> Query[tuple[Settings, bool] | None]:
    def read(row: Row) -> tuple[Settings, bool]:
        return settings_of(row), bool(row[len(SETTINGS)])

    return query(SELECT_WISHED, chat_id, read=at_most_one(read))


def chosen(before: Settings, choices: Mapping[str, Any]) -> Settings:
    """The settings after these changes (the fields of `interface.Choices`)."""
    if unknown := choices.keys() - _NAMES:
        raise InvalidInput(f"A chat has no setting named {', '.join(sorted(unknown))}.")
    changed = dict(choices)
    if "title" in changed:
        source = changed.setdefault("title_source", "person")
        if source == "generated" and before.title_source == "person":
            del changed["title"], changed["title_source"]
    return clean_deep(msgspec.structs.replace(before, **changed))


def distinct_labels(value: Settings) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value.labels))


def title_words(value: Settings) -> tuple[str, ...]:
    return words_of((value.title,))


def written(chat_id: ChatId, value: Settings) -> Written:
    """The row for UPDATE, or for an INSERT of the SETTINGS columns."""
    return settings_row(chat_id, value)
