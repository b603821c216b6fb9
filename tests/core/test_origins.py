"""Where chats come from, as clients and rows have it."""

import msgspec
import pytest

from holdfast.core.ids import CallId, ChatId, RunId
from holdfast.core.origins import (
    PERSON,
    FromChat,
    FromFork,
    FromRun,
    Origin,
    is_agent,
    parent_call_of,
    parent_of,
    run_of,
)
from holdfast.core.shapes import encode_text
from holdfast.store.chat_rows import origin_of

CHAT, CALL, RUN = ChatId("c"), CallId("call_1"), RunId("r")
SHAPES: list[tuple[Origin, str]] = [
    (PERSON, '{"kind":"person"}'),
    (FromChat(chat_id=CHAT, call_id=CALL), '{"kind":"chat","chat_id":"c","call_id":"call_1"}'),
    (FromRun(run_id=RUN), '{"kind":"run","run_id":"r"}'),
    (FromFork(chat_id=CHAT), '{"kind":"fork","chat_id":"c"}'),
]


@pytest.mark.parametrize("origin, text", SHAPES, ids=lambda value: str(value)[:20])
def test_an_origin_is_tagged_by_its_kind(origin: Origin, text: str) -> None:
    assert encode_text(origin) == text
    assert msgspec.json.decode(text, type=Origin) == origin
    assert origin_of(text, None, None, None) == origin


def test_who_waits_for_its_end_follows_from_it() -> None:
    origins = [origin for origin, _ in SHAPES]
    assert [parent_of(origin) for origin in origins] == [None, CHAT, None, None]
    assert [parent_call_of(origin) for origin in origins] == [None, CALL, None, None]
    assert [run_of(origin) for origin in origins] == [None, None, RUN, None]
    assert [is_agent(origin) for origin in origins] == [False, True, True, False]


def test_a_row_without_an_origin_or_with_one_of_a_later_version_goes_by_its_ids() -> None:
    for text in (None, '{"kind":"comparison","comparison_id":"c"}'):
        assert origin_of(text, None, None, None) == PERSON
        assert origin_of(text, CHAT, CALL, None) == FromChat(chat_id=CHAT, call_id=CALL)
        assert origin_of(text, None, None, RUN) == FromRun(run_id=RUN)
