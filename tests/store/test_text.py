"""Any text, of any size, is the same on both engines."""

from typing import Any

import pytest

from holdfast.chats.commands import Notify, Send
from holdfast.core.chats import Settings
from holdfast.core.messages import Message
from holdfast.core.parts import Text
from holdfast.core.text import clean
from holdfast.store import chats, messages
from holdfast.store.settings_rules import settings
from tests.store.world import World, call, finished, text, view_of

MEBIBYTE = 1024 * 1024


NUL = ("\0", "a\0b", "\\u0000", '{"a": "\\u0000"}')
SURROGATES = ("\ud800", "\udc00\ud800", "a\ud83d", "\ud83d" + "\ude00")
ODD = ("\U0001f600", "\ufffe\uffff", "\u202e", "\r\n\t", "\x1b[31m", "𝄞" * 10, "é\u0301")
QUOTED = ("' \" \\", "%s $1 ?1 :a")


async def test_strange_text_is_stored_the_same(world: World) -> None:
    for content in (*NUL, *SURROGATES, *ODD, *QUOTED):
        await store_everywhere(world, content)
    while await world.store.index_pending():
        pass
    assert await world.store.check() == []


async def store_everywhere(world: World, content: str) -> None:
    view = await world.step(await world.own(await world.create(content)), call("a"))
    value: dict[str, Any] = {"text": content, content: [content]}
    view = await world.work(view, finished("a", value, full_output=content, diff=content))
    view = view_of(await world.do(view.chat.id, Notify(source="x", key="k", text=content, data=value)))
    view = view_of(await world.send(view.chat.id, content))
    await world.store.update_settings(view.chat.id, title=content, labels=(content,), summary=content)
    cleaned = clean(content)
    first = (await world.history(view.chat.id))[0]
    assert first.parts == text(cleaned)
    assert view.inbox[0].text == cleaned
    assert view.queue[0].parts == text(cleaned)
    chosen = await world.store.read(settings(view.chat.id))
    assert chosen is not None
    assert (chosen.title, chosen.labels, chosen.summary) == (cleaned, (cleaned,), cleaned)


async def test_settings_at_creation_are_cleaned_too(world: World) -> None:
    view = await world.create(settings=Settings(title="a\0b", labels=("\ud800",), tools={"\0": "\0"}))
    chat = await world.store.read(chats.chat(view.chat.id))
    assert chat is not None
    assert (chat.title, chat.labels) == ("a\ufffdb", ("\ufffd",))


@pytest.mark.heavy
async def test_a_message_of_twenty_mebibytes(world: World) -> None:
    """As many bytes as characters, and with three bytes each."""
    for content in ("x" * (20 * MEBIBYTE), "語" * (20 * MEBIBYTE // 3), '\n"\\' * (5 * MEBIBYTE)):
        view = await world.create(content)
        [message] = await world.history(view.chat.id)
        assert message.parts == (Text(text=content),)
        view = await world.own(view)
        queued = await world.store.transition(view.chat.id, Send(parts=text(content), created_by=world.owner))
        assert not isinstance(queued, Message)
        assert (await world.view(view.chat.id)).queue[0].parts == text(content)
        view = await world.step(await world.view(view.chat.id), call("big"))
        view = await world.work(view, finished("big", content, full_output=content))
        assert view.calls[0].output == content
    while await world.store.index_pending():
        pass
    changed = await world.store.read(messages.since(view.chat.id, 0))
    assert len(changed) == 2
