"""What a workspace says: its instructions once for each workspace, its check after every step that wrote."""

from holdfast.chats.commands import Compact
from holdfast.core.ids import ChatId, WorkspaceId
from holdfast.core.parts import Notice
from holdfast.worker.run import Where
from tests.providers.replies import call, say
from tests.worker.engine import Engine, said_to_model

WORKSPACE = WorkspaceId("019df000-0000-7000-8000-0000000000a1")
OTHER = WorkspaceId("019df000-0000-7000-8000-0000000000a2")


class Told:
    """Counts how often it was asked."""

    def __init__(self, texts: dict[WorkspaceId | None, str], complaints: list[str] | None = None) -> None:
        self.texts = texts
        self.asked: list[WorkspaceId | None] = []
        self.checked: list[WorkspaceId | None] = []
        self.complaints = complaints or []

    async def instructions(self, where: Where) -> str | None:
        self.asked.append(where.workspace_id)
        return self.texts.get(where.workspace_id)

    async def complaint(self, where: Where) -> str | None:
        self.checked.append(where.workspace_id)
        return self.complaints.pop(0) if self.complaints else None


async def notices(engine: Engine, chat: ChatId) -> list[str]:
    return [
        part.text
        for message in await engine.history(chat, for_model=True)
        for part in message.parts
        if isinstance(part, Notice) and part.code == "instructions"
    ]


async def test_they_are_committed_once(engine: Engine) -> None:
    told = Told({WORKSPACE: "Use tabs."})
    engine.start(surroundings=told)
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    await engine.send(chat, "say: Two.")
    await engine.idle(chat)
    assert await notices(engine, chat) == ["Use tabs."]
    assert told.asked == [WORKSPACE]
    assert all("Use tabs." in said_to_model(asked) for asked in engine.asked)
    assert engine.server.refusals == []


async def test_none_leave_a_marker(engine: Engine) -> None:
    told = Told({})
    engine.start(surroundings=told)
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    await engine.send(chat, "say: Two.")
    await engine.idle(chat)
    assert len(await notices(engine, chat)) == 1
    assert told.asked == [WORKSPACE]


async def test_without_a_workspace_there_is_nothing_to_mark(engine: Engine) -> None:
    engine.start(surroundings=Told({}))
    chat = await engine.create("say: One.")
    await engine.idle(chat)
    assert await notices(engine, chat) == []


async def test_another_workspace_has_its_own(engine: Engine) -> None:
    engine.start(surroundings=Told({WORKSPACE: "Use tabs.", OTHER: "Use spaces."}))
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    await engine.store.update_settings(chat, workspace_id=OTHER)
    await engine.send(chat, "say: Two.")
    await engine.idle(chat)
    assert await notices(engine, chat) == ["Use tabs.", "Use spaces."]


async def test_a_summary_does_not_swallow_them(engine: Engine) -> None:
    engine.start(surroundings=Told({WORKSPACE: "Use tabs."}))
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    await engine.do(chat, Compact())
    await engine.idle(chat)
    await engine.send(chat, "say: Two.")
    await engine.idle(chat)
    assert "Use tabs." in said_to_model(engine.asked[-1])


async def test_what_a_check_finds_wrong_is_told_before_the_next_step(engine: Engine) -> None:
    told = Told({}, complaints=["make check failed: tabs"])
    engine.start(surroundings=told)
    engine.server.queue(call("save"), call("look"), say("Done."))
    chat = await engine.create("Save it.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    assert told.checked == [WORKSPACE]
    assert "make check failed: tabs" in said_to_model(engine.asked[1])
    assert "make check failed: tabs" not in said_to_model(engine.asked[0])
    assert engine.server.refusals == []
