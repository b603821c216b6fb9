"""Titles and summaries of turns: they cost nothing unless asked for, never delay a turn, and never replace
what a person wrote."""

from typing import Unpack

import pytest
from msgspec.structs import replace

from holdfast.chats.commands import Archive, Delete, Edit
from holdfast.core.chats import Settings
from holdfast.core.ids import ChatId
from holdfast.core.parts import Text
from holdfast.store.interface import Choices
from holdfast.store.settings_rules import settings
from holdfast.worker.settings import WorkerSettings
from tests.providers.answering import Asked
from tests.providers.replies import Fault, Hang, Page, Reply, Status, fails, say
from tests.worker.engine import OWNER, QUICK_RETRIES, Engine, eventually, model, said_to_model

BY_MODEL = WorkerSettings(title_model="titles", retry=QUICK_RETRIES, poll_seconds=0.2)


async def chosen(engine: Engine, chat: ChatId) -> Settings:
    found = await engine.store.read(settings(chat))
    assert found is not None
    return found


async def titled(engine: Engine, chat: ChatId, title: str) -> Settings:
    """The settings once this is the title."""
    async with engine.bus.listen(chat_id=chat, live=False) as hints:
        while (found := await chosen(engine, chat)).title != title or not found.summary:
            await hints.get()
    return found


@pytest.fixture
def naming(engine: Engine) -> Engine:
    """With a model for titles."""
    engine.configure(model(), model("titles", model="titles-model"))
    return engine


def name_with(engine: Engine, title: Reply, summary: Reply | None = None) -> None:
    def answer(asked: Asked) -> Reply | None:
        if asked.model != "titles-model":
            return None
        return title if "title of at most" in said_to_model(asked) else (summary or say("They greeted."))

    engine.server.answer = answer


# Without a model


async def test_the_first_lines_without_a_call(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.start()
    chat = await engine.create("\n  Fix   the build\tplease\nsay: I will.\nsay:  And more.")
    await engine.idle(chat)
    found = await titled(engine, chat, "Fix the build please")
    assert (found.title_source, found.summary) == ("generated", "I will. And more.")
    assert len(engine.asked) == 1


async def test_at_most_80_characters_on_one_line(engine: Engine) -> None:
    engine.start()
    chat = await engine.create("word " * 100)
    await engine.idle(chat)
    await eventually_titled(engine, chat)
    found = await chosen(engine, chat)
    assert len(found.title) == 80
    assert found.title.endswith("…")
    assert len(found.summary) <= 80


async def eventually_titled(engine: Engine, chat: ChatId) -> None:
    async with engine.bus.listen(chat_id=chat, live=False) as hints:
        while not (await chosen(engine, chat)).summary:
            await hints.get()


async def test_the_title_stays_the_summary_follows(engine: Engine) -> None:
    engine.start()
    chat = await engine.create("First\nsay: One.")
    await titled(engine, chat, "First")
    await engine.send(chat, "Second\nsay: Two.")
    await engine.idle(chat)
    async with engine.bus.listen(chat_id=chat, live=False) as hints:
        while (await chosen(engine, chat)).summary != "Two.":
            await hints.get()
    assert (await chosen(engine, chat)).title == "First"


async def test_settings_never_move_the_version(engine: Engine) -> None:
    engine.start()
    chat = await engine.create("say: Hello.")
    view = await engine.idle(chat)
    await titled(engine, chat, "say: Hello.")
    assert (await engine.chat(chat)).version == view.chat.version


async def test_a_title_that_was_given_is_kept(engine: Engine) -> None:
    engine.start()
    chat = await engine.create("say: Hello.", title="Mine", title_source="person")
    found = await titled(engine, chat, "Mine")
    assert found.title_source == "person"


# With a model


async def test_a_model_names_it(naming: Engine) -> None:
    name_with(naming, say("A greeting"), say("They said hello."))
    naming.start(BY_MODEL)
    chat = await naming.create("say: Hello.")
    found = await titled(naming, chat, "A greeting")
    assert (found.title_source, found.summary) == ("generated", "They said hello.")
    asked = [asked for asked in naming.asked if asked.model == "titles-model"]
    assert [one.body["max_tokens"] for one in asked] == [200, 200]
    assert all("tools" not in one.body for one in asked)


async def test_summaries_can_do_without_the_model(naming: Engine) -> None:
    naming.start(replace(BY_MODEL, summaries_by_model=False))
    name_with(naming, say("A greeting"), say("Never asked for."))
    chat = await naming.create("Hello.\nsay: Hi there.")
    await naming.idle(chat)
    assert (await titled(naming, chat, "A greeting")).summary == "Hi there."
    assert len([asked for asked in naming.server.log if asked.model == "titles-model"]) == 1


async def test_junk_is_bounded(naming: Engine) -> None:
    name_with(naming, say("  Line one\r\nline\ttwo\u2028\0" + "!" * 5000), say("\n\n x \n\n"))
    naming.start(BY_MODEL)
    chat = await naming.create("say: Hello.")
    await eventually_titled(naming, chat)
    found = await chosen(naming, chat)
    assert len(found.title) == 80
    assert found.title.startswith("Line one line two")
    assert not set(found.title) & set("\r\n\t\0\u2028")
    assert found.summary == "x"


@pytest.mark.parametrize("fault", [Status(500), Status(401), Page()])
async def test_a_model_that_fails_is_not_missed(naming: Engine, fault: Fault) -> None:
    name_with(naming, fails(fault), Reply())
    naming.start(BY_MODEL)
    chat = await naming.create("say: Hello.")
    found = await titled(naming, chat, "say: Hello.")
    assert found.summary == "Hello."
    # Not tried again, and nothing of it is the chat's trouble.
    assert len([asked for asked in naming.asked if asked.model == "titles-model"]) == 2
    view = await naming.idle(chat)
    assert (view.chat.retry, view.chat.last_error) == (None, None)


async def test_a_model_that_hangs_delays_nobody(naming: Engine) -> None:
    name_with(naming, fails(Hang()))
    naming.start(BY_MODEL)
    chat = await naming.create("say: One.")
    await naming.idle(chat)
    await naming.send(chat, "say: Two.")
    await naming.idle(chat)
    assert (await naming.texts(chat))[-1] == ("assistant", "Two.")
    # Nor does it hold up the worker's end.
    await naming.stop()


async def test_a_model_that_is_gone_is_replaced_like_any_other(naming: Engine) -> None:
    naming.start(WorkerSettings(title_model="gone", retry=QUICK_RETRIES))
    naming.server.queue(say("Hello."), say("By the default"), say("A summary"))
    chat = await naming.create("Hello")
    await titled(naming, chat, "By the default")


# Meanwhile


async def test_a_person_renames_it_while_it_is_named(naming: Engine) -> None:
    name_with(naming, say("Too late", first_delay_seconds=0.3))
    naming.start(BY_MODEL)
    chat = await naming.create("say: Hello.")
    await eventually(lambda: any(asked.model == "titles-model" for asked in naming.asked))
    await naming.store.update_settings(chat, title="Mine")
    found = await titled(naming, chat, "Mine")
    assert (found.title_source, found.summary) == ("person", "They greeted.")


async def test_a_person_deletes_it_while_it_is_named(naming: Engine) -> None:
    name_with(naming, say("Too late", first_delay_seconds=0.3))
    naming.start(BY_MODEL)
    chat = await naming.create("say: Hello.")
    await eventually(lambda: any(asked.model == "titles-model" for asked in naming.asked))
    await naming.do(chat, Delete())
    await eventually(lambda: sum(asked.outcome == "answered" for asked in naming.asked) == 3)
    other = await naming.create("say: Here.")
    await naming.idle(other)


async def test_a_person_archives_it_while_it_is_named(naming: Engine) -> None:
    name_with(naming, say("A name", first_delay_seconds=0.3))
    naming.start(BY_MODEL)
    chat = await naming.create("say: Hello.")
    await eventually(lambda: any(asked.model == "titles-model" for asked in naming.asked))
    archived = await naming.do(chat, Archive())
    await titled(naming, chat, "A name")
    found = await naming.chat(chat)
    assert found.archived
    assert archived.after is not None
    assert found.version == archived.after.chat.version


async def test_an_edit_does_not_name_it_after_what_was_removed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    update, titles = engine.store.update_settings, list[str]()

    async def updating(chat_id: ChatId, **choices: Unpack[Choices]) -> Settings | None:
        titles.append(choices.get("title", ""))
        return await update(chat_id, **choices)

    monkeypatch.setattr(engine.store, "update_settings", updating)
    engine.start()
    chat = await engine.create("Old title\nwait: 30\nsay: x")
    await engine.until_asked(1)
    first = (await engine.history(chat))[0].id
    parts = (Text(text="New title\nsay: Hello."),)
    await engine.do(chat, Edit(message_id=first, parts=parts, created_by=OWNER))
    await engine.idle(chat)
    await titled(engine, chat, "New title")
    assert titles == ["New title"]
