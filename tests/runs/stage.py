"""Runs of workflows for tests: the engine with a worker that also drives runs, real sandboxes, and a
provider over HTTP that answers every agent with its prompt in brackets, unless a test says otherwise."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from holdfast.core.errors import InvalidInput
from holdfast.core.ids import ChatId, RandomIds, RunId
from holdfast.core.runs import OVER, Run, RunCall, RunDetails
from holdfast.core.shapes import Json
from holdfast.duties.duty import LeasedDuty
from holdfast.duties.worker import Worker
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.runs.agent_chats import AgentChats
from holdfast.scripts.runs.library import Library
from holdfast.scripts.runs.run_driver import RunResources
from holdfast.scripts.runs.run_duty import RunDuty
from holdfast.scripts.runs.run_start import RunRequest, Runs
from holdfast.scripts.runs.sandboxes import Sandboxes
from holdfast.scripts.runs.settings import RunSettings
from holdfast.scripts.runs.tool import workflow_tools
from holdfast.store import journals
from holdfast.tools.agent_names import AgentNames
from holdfast.tools.agents import agent_tools
from holdfast.tools.contract import ToolError
from holdfast.tools.family import AgentFamily, AgentLimits, Isolation
from holdfast.tools.registry import ToolRegistry
from holdfast.worker.chat_duty import ChatDuty
from holdfast.worker.settings import WorkerSettings
from tests.providers.answering import Asked
from tests.providers.replies import Reply, say
from tests.worker.engine import OWNER, PATIENCE_SECONDS, SETTINGS, Engine

META = {
    "javascript": "export const meta = {name: 'test', description: 'a test'%s}\n",
    "python": 'meta = {"name": "test", "description": "a test"%s}\n',
}
QUICK = RunSettings(poll_seconds=0.2)
# What every answer costs, in output tokens.
COST = 10
# Longer than any wait inside a test.
LONG_SECONDS = PATIENCE_SECONDS * 2

Answers = Callable[[str, Asked], Reply | str | None]


def js(body: str, more: str = "") -> str:
    return META["javascript"] % more + body


def py(body: str, more: str = "") -> str:
    return META["python"] % more + body


class Stage:
    def __init__(self, engine: Engine, home: Path) -> None:
        self.engine = engine
        self.settings = QUICK
        # Whether sandboxes are opened ahead.
        self.spares = False
        self.isolation: Isolation | None = None
        self.home = home
        self.reader = ScriptReader()
        self.library = Library(None, home, self.reader)
        self.answers: Answers = lambda prompt, asked: None
        engine.server.answer = self._answer
        self._ids = RandomIds()
        self.runs = Runs(
            store=engine.store,
            clock=engine.clock,
            ids=self._ids,
            library=self.library,
            check_model=self._require_model,
        )
        self.family = self._family()
        ours = {tool.name: tool for tool in (*engine.tools, *agent_tools(self.family))}
        self.tools = ToolRegistry((*ours.values(), *workflow_tools(self.runs, self.family)))

    def _family(self) -> AgentFamily:
        engine = self.engine
        return AgentFamily(
            store=engine.store,
            agents=AgentNames(engine.store, None),
            bus=engine.bus,
            clock=engine.clock,
            ids=self._ids,
            limits=AgentLimits,
            check_model=self._check_model,
            has_tool=lambda name: name in self.tools,
            isolation=self.isolation,
        )

    def _require_model(self, name: str) -> None:
        if name not in self.engine.providers.setup.models:
            raise InvalidInput(f"There is no model {name}.")

    def _check_model(self, name: str) -> None:
        if name not in self.engine.providers.setup.models:
            raise ToolError(f"There is no model {name}.")

    def close(self) -> None:
        self.reader.close()

    # The server

    def work(self, settings: WorkerSettings = SETTINGS, **more: Any) -> Worker:
        """A worker for chats and runs, as a server process has."""
        return self.engine.start(settings, tools=self.tools, beside=self.beside(), **more)

    def beside(self) -> Callable[[ChatDuty], Sequence[LeasedDuty[Any, Any]]]:
        """What the worker does beside its chats."""
        engine = self.engine
        resources = RunResources(
            store=engine.store,
            clock=engine.clock,
            ids=self._ids,
            agent_chats=AgentChats(self._family()),
            library=self.library,
            sandboxes=Sandboxes(spares=self.spares),
            settings=lambda: self.settings,
        )
        return lambda chats: (RunDuty(resources, self.runs, chats),)

    # What people do

    async def start(self, script: str, **more: Any) -> Run:
        language = "python" if script.startswith("meta") else "javascript"
        return await self.runs.start(RunRequest(owner_id=OWNER, script=script, language=language, **more))

    async def ran(self, script: str, **more: Any) -> RunDetails:
        """Started, and seen to its end."""
        return await self.over((await self.start(script, **more)).id)

    async def result(self, script: str, **more: Any) -> Json:
        ran = await self.ran(script, **more)
        assert ran.run.status == "succeeded", (ran.run.error, [line.text for line in ran.lines])
        return ran.run.result

    # What is so

    async def details(self, run_id: RunId) -> RunDetails:
        found = await self.engine.store.read(journals.details(run_id))
        assert found is not None
        return found

    async def until(self, run_id: RunId, condition: Callable[[RunDetails], bool]) -> RunDetails:
        seen: RunDetails | None = None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                async with self.engine.bus.listen(run_id=run_id) as hints:
                    while True:
                        seen = await self.details(run_id)
                        if condition(seen):
                            return seen
                        try:
                            await asyncio.wait_for(hints.get(), 0.1)
                        except TimeoutError:
                            pass
        except TimeoutError:
            raise AssertionError(f"it never came to be; the run is {seen}") from None

    async def over(self, run_id: RunId) -> RunDetails:
        return await self.until(run_id, lambda seen: seen.run.status in OVER)

    async def working(self, run_id: RunId, count: int) -> RunDetails:
        """The run when so many of its calls have begun."""
        return await self.until(
            run_id, lambda seen: sum(c.started_at is not None for c in seen.calls) >= count
        )

    # The provider

    @property
    def prompts(self) -> Counter[str]:
        """What agents were asked, and how often the provider was."""
        return Counter(prompt_of(asked) for asked in self.engine.asked)

    def _answer(self, asked: Asked) -> Reply | None:
        prompt = prompt_of(asked)
        given = self.answers(prompt, asked)
        if given is None:
            given = f"<{prompt}>"
        reply = say(given) if isinstance(given, str) else given
        return reply if reply.usage is not None else replace(reply, usage={"input": 5, "output": COST})


def prompt_of(asked: Asked) -> str:
    """The first thing that the agent was told."""
    return next(text for text in texts_of(asked, "user"))


def texts_of(asked: Asked, role: str) -> list[str]:
    found: list[str] = []
    for message in asked.body["messages"]:
        if message["role"] == role:
            content = message["content"]
            found.append(content if isinstance(content, str) else "".join(b.get("text", "") for b in content))
    return found


def texts(ran: RunDetails, *kinds: str) -> list[str]:
    return [line.text for line in ran.lines if line.kind in (kinds or ("log", "warning"))]


def by_label(ran: RunDetails) -> dict[str, RunCall]:
    return {call.label or str(call.number): call for call in ran.calls}


def chats_of(calls: Sequence[RunCall]) -> list[ChatId]:
    return [call.chat_id for call in calls if call.chat_id is not None]
