"""Agents that are made in the process that runs them: whose they are, and that they are run as stored."""

from collections.abc import Callable

from msgspec.structs import replace

from holdfast.chats.change import Refusal
from holdfast.chats.commands import Create
from holdfast.chats.start import NewAgent
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.checks import Checked
from holdfast.core.errors import NotFound
from holdfast.core.ids import ChatId, RandomIds, WorkerId
from holdfast.core.messages import entries_of
from holdfast.core.parts import Notice, Text
from holdfast.core.runs import AgentTerms
from holdfast.duties.lease import LeaseRenewal
from holdfast.prompt.sources import PlacedPassage, PromptChat, WorkspaceText
from holdfast.store import settings_rules
from holdfast.store.messages import prompt
from holdfast.store.query import constant
from holdfast.worker.active_turn import StartedAgent
from holdfast.worker.agent_starts import AgentStarts
from holdfast.worker.resources import Surroundings
from tests.runs.stage import Stage
from tests.worker.engine import OWNER

CREATE = Create(
    owner_id=OWNER, settings=Settings(title="t", instructions="i", labels=("l",)), parts=(Text(text="go"),)
)


class Place:
    """Tells agents a text, or that it cannot be read."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    async def instructions(self, where: PromptChat) -> WorkspaceText:
        if self._text is None:
            raise NotFound("The workspace is gone.")
        passage = PlacedPassage(place="instructions", label="AGENTS.md", text=self._text)
        return WorkspaceText(passages=(passage,))

    async def check(self, where: PromptChat, still_ours: Callable[[], bool]) -> Checked | None:
        return None


class Taken:
    """A worker with so much room, and what it was given to run."""

    def __init__(self, stage: Stage, worker_id: WorkerId, room: int, place: Surroundings | None) -> None:
        self._room = room
        self.started: list[tuple[View, StartedAgent | None]] = []
        self.worker_id = worker_id
        self.starts = AgentStarts(
            LeaseRenewal(stage.engine.store, worker_id, 15.0, stage.engine.clock, lambda: None),
            store=stage.engine.store,
            clock=stage.engine.clock,
            surroundings=place,
            room=lambda _: self._room - len(self.started),
            start=lambda view, founded: self.started.append((view, founded)),
        )

    async def found(self, chat_id: ChatId, terms: AgentTerms | None = None) -> Refusal | None:
        agent = NewAgent(chat_id=chat_id, create=CREATE, terms=terms, capped=False)
        _, (refusal,) = await self.starts.make((agent,), constant(None))
        return refusal


async def taken(stage: Stage, room: int = 1, place: Surroundings | None = None) -> Taken:
    return Taken(stage, await stage.engine.store.register_worker("test", 60.0), room, place)


def new_id(stage: Stage) -> ChatId:
    return ChatId(RandomIds().uuid7(stage.engine.clock.now()))


async def test_an_agent_is_run_as_it_was_stored(stage_everywhere: Stage) -> None:
    stage, chat_id = stage_everywhere, new_id(stage_everywhere)
    mine, terms = await taken(stage), AgentTerms(max_steps=3)
    assert await mine.found(chat_id, terms) is None
    ((view, founded),) = mine.started
    assert founded is not None
    stored = await stage.engine.store.view(chat_id)
    assert stored is not None
    assert stored.chat.lease is not None
    # When a lease ends is the worker's to say.
    assert replace(stored.chat, lease=view.chat.lease) == view.chat
    assert (view.chat.status, view.chat.attempt, founded.begun) == ("running", 1, True)
    assert view.chat.lease is not None
    assert view.chat.lease.worker_id == mine.worker_id
    history, chosen = await stage.engine.store.read(prompt(chat_id), settings_rules.settings(chat_id))
    assert entries_of(founded.messages) == list(history)
    assert founded.agent.create.settings == chosen
    assert founded.agent.terms == terms


async def test_without_room_an_agent_waits_for_anybody(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    mine = await taken(stage, room=1)
    ours, waiting = new_id(stage), new_id(stage)
    await mine.found(ours)
    await mine.found(waiting)
    assert [view.chat.id for view, _ in mine.started] == [ours]
    view = await stage.engine.store.view(waiting)
    assert view is not None
    assert (view.chat.status, view.chat.lease) == ("running", None)


async def test_an_agent_that_is_there_already_is_made_once(stage_everywhere: Stage) -> None:
    stage, chat_id = stage_everywhere, new_id(stage_everywhere)
    first, second = await taken(stage, room=2), await taken(stage)
    await first.found(chat_id)
    for worker in (first, second):
        refusal = await worker.found(chat_id)
        assert refusal is not None
        assert refusal.code == "wrong_state"
    # Its owner gets it again, in case the answer was lost; nobody else does.
    assert [founded is None for _, founded in first.started] == [False, True]
    assert second.started == []
    assert len(await stage.engine.store.read(prompt(chat_id))) == 1


async def test_what_the_workspace_says_enters_with_the_first_message(stage: Stage) -> None:
    mine, chat_id = await taken(stage, place=Place("Be brief.")), new_id(stage)
    await mine.found(chat_id)
    _, said = await stage.engine.store.read(prompt(chat_id))
    (notice,) = said.parts
    assert isinstance(notice, Notice)
    assert notice.text == "Be brief."


async def test_a_workspace_that_cannot_be_read_is_met_in_the_turn(stage: Stage) -> None:
    mine, chat_id = await taken(stage, place=Place(None)), new_id(stage)
    await mine.found(chat_id)
    ((view, founded),) = mine.started
    assert founded is not None
    assert (view.chat.attempt, founded.begun) == (0, False)
