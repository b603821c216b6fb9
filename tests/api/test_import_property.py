"""For any history: what is exported is what is imported."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.api.import_shapes import read_export
from holdfast.chats.commands import Import
from holdfast.chats.decide import decide
from holdfast.core.chats import Settings
from holdfast.core.ids import CallId, ChatId, FileId, MessageId, RandomIds, UserId
from holdfast.core.messages import Message
from holdfast.core.parts import File, Notice, Part, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.core.shapes import encode
from holdfast.core.usage import Usage
from tests.api.exports import CHAT_ID, OWNER_ID, message_id

NOW = datetime(2026, 1, 2, tzinfo=UTC)
OURS = ("id", "chat_id", "revision", "queue_item_id", "created_by")

# No NUL and no half characters: those are replaced when they come in.
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
moments = st.none() | st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
usages = st.none() | st.builds(Usage, input=st.integers(0, 2**40), cost_usd_micros=st.integers(0, 2**40))
plain = st.builds(Text, text=texts)
notices = st.builds(Notice, code=texts, text=texts, data=values)
files = st.builds(
    File, file_id=st.just(FileId(message_id(7))), media_type=texts, name=texts, size=st.integers(0, 10)
)
said = (
    plain
    | st.builds(Reasoning, text=texts, started_at=moments, finished_at=moments)
    | st.builds(Source, url=texts)
)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Legal ones: each call with its result, directly after it, and removed pieces in between."""
    history: list[Message] = []
    turn = 1

    def add(role: Any, parts: list[Part], **more: Any) -> None:
        number = len(history)
        history.append(
            Message(
                id=MessageId(message_id(number)),
                chat_id=ChatId(CHAT_ID),
                turn=turn,
                role=role,
                parts=tuple(parts),
                revision=number + 1,
                created_at=NOW,
                **more,
            )
        )

    for _ in range(draw(st.integers(1, 6))):
        turn += draw(st.integers(0, 2))
        kind = draw(st.sampled_from(["user", "system", "assistant", "summary"]))
        removed = draw(st.booleans())
        if kind == "user":
            add("user", draw(st.lists(plain | files, max_size=3)), removed=removed)
        elif kind == "system":
            add("system", [draw(notices)], visibility=draw(st.sampled_from(["both", "user", "model"])))
        elif kind == "summary":
            add("user", [draw(plain)], visibility="model", compaction=True)
        else:
            count = draw(st.integers(0, 3))
            calls = [
                ToolCall(call_id=CallId(f"c{len(history)}_{n}"), name=draw(texts), input=draw(values))
                for n in range(count)
            ]
            add(
                "assistant",
                [*draw(st.lists(said, max_size=2)), *calls],
                removed=removed,
                usage=draw(usages),
                model=draw(st.none() | texts),
                interrupted=draw(st.booleans()),
            )
            results = [
                ToolResult(
                    call_id=call.call_id,
                    name=call.name,
                    output=draw(values),
                    outcome=draw(
                        st.sampled_from(["succeeded", "failed", "denied", "cancelled", "uncertain"])
                    ),
                    diff=draw(st.none() | texts),
                    finished_at=draw(moments),
                )
                for call in calls
            ]
            if results:
                add("tool", draw(st.permutations(results)), removed=removed)
    return history


def kept(messages: Any) -> list[dict[str, Any]]:
    shown = msgspec.json.decode(encode(messages))
    return [{name: value for name, value in message.items() if name not in OURS} for message in shown]


@given(histories())
def test_a_round_trip(history: list[Message]) -> None:
    body = encode({"holdfast_export": 1, "chat": {"id": CHAT_ID, "title": "x"}, "messages": history})
    exported = read_export(lambda at, count: body[at : at + count])
    assert list(exported.messages) == history
    command = Import(owner_id=UserId(OWNER_ID), settings=Settings(), messages=exported.messages)
    change: Any = decide(ChatId(message_id(1)), None, [command], now=NOW, ids=RandomIds())
    assert kept(change.messages) == kept(history)
    ids = [message.id for message in change.messages]
    assert ids == sorted(set(ids))
    # What was imported is exported again as the same content.
    again = encode(
        {
            "holdfast_export": 1,
            "chat": {"id": CHAT_ID, "title": "x"},
            "messages": [replace(one, chat_id=ChatId(CHAT_ID)) for one in change.messages],
        }
    )
    assert kept(read_export(lambda at, count: again[at : at + count]).messages) == kept(history)
