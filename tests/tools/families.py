"""Chats with sub-agents for tests: the engine with the tools for sub-agents, and a provider that follows a
script for each parent whatever notices come between."""

import itertools
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from holdfast.chats.commands import DeliveryKey
from holdfast.core.ids import CallId, ChatId, RandomIds
from holdfast.core.messages import Message
from holdfast.core.parts import Notice, ToolResult
from holdfast.duties.worker import Worker
from holdfast.store import children as child_queries
from holdfast.store.children import Child
from holdfast.tools.agent_names import AgentNames
from holdfast.tools.agents import agent_tools
from holdfast.tools.contract import ToolAnswer, ToolContext, ToolError
from holdfast.tools.family import AgentFamily, AgentLimits, Isolation
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.subagents import subagent_tools
from tests.providers.answering import Asked
from tests.providers.replies import Call, Reply, call, say
from tests.worker.conftest import opened
from tests.worker.engine import OWNER, SETTINGS, Engine, eventually
from tests.worker.toolbox import Toolbox

_TAG = re.compile(r"\[script (\d+)\]")
_ids = RandomIds()


WAIT = call("wait_agents")
# When a parent that runs is told of an end by a notice: at once, or only when it rests.
AT_ONCE, AT_REST = 0.0, 600.0
# What a patient call may take when a test is over.
GRACE_SECONDS = 0.1


@dataclass
class Called:
    """What a tool answered."""

    output: Any
    consumes: tuple[DeliveryKey, ...]


class Scene:
    """`limits` and `isolation` may be changed by a test before it begins."""

    def __init__(self, engine: Engine, tools: Toolbox) -> None:
        self.engine = engine
        self.tools = tools
        self.limits = AgentLimits()
        self.family = self.related()
        self._scripts: dict[str, Sequence[Reply]] = {}
        self._numbers = itertools.count(1)
        engine.server.answer = self._answer
        self.use(self.family)

    def related(self, isolation: Isolation | None = None) -> AgentFamily:
        engine = self.engine
        return AgentFamily(
            store=engine.store,
            agents=AgentNames(engine.store, None),
            bus=engine.bus,
            clock=engine.clock,
            ids=_ids,
            limits=lambda: self.limits,
            check_model=self._check_model,
            has_tool=lambda name: name in engine.tools,
            isolation=isolation,
        )

    def use(self, family: AgentFamily) -> None:
        """From now on chats have these tools for sub-agents, and the ones made for tests."""
        self.family = family
        self.engine.tools = ToolRegistry(
            [*self.tools.registry(), *agent_tools(family), *subagent_tools(family)]
        )

    def _check_model(self, name: str) -> None:
        if name not in self.engine.providers.setup.models:
            raise ToolError(f"There is no model {name}.")

    def start(self, *, notice_seconds: float = SETTINGS.notice_seconds, **more: Any) -> Worker:
        given = {"grace_seconds": GRACE_SECONDS, "notice_seconds": notice_seconds, **more}
        return self.engine.start(replace(SETTINGS, **given), isolation=self.family.isolation)

    # Scripts

    def script(self, *replies: Reply) -> str:
        """A message to whose chat the provider gives these answers, one after the other."""
        number = str(next(self._numbers))
        self._scripts[number] = replies
        return f"[script {number}]"

    def _answer(self, asked: Asked) -> Reply | None:
        """By the newest message that names a script, and how many answers came after it."""
        answered = 0
        for message in reversed(asked.body["messages"]):
            answered += int(message["role"] == "assistant")
            if message["role"] == "user" and (found := _TAG.findall(str(message["content"]))):
                replies = self._scripts[found[-1]]
                return replies[answered] if answered < len(replies) else say("And that is that.")
        return None

    async def parent(self, *replies: Reply, **more: Any) -> ChatId:
        return await self.engine.create(self.script(*replies), **more)

    async def busy(self, **more: Any) -> ChatId:
        """One that is in the middle of a call, until `tools.go(...)` lets it end."""
        name = f"parent {next(self._numbers)}"
        chat_id = await self.parent(call("patient", {"name": name}), **more)
        await eventually(lambda: name in self.tools.ledger)
        return chat_id

    # What is so

    async def children(self, chat_id: ChatId) -> list[Child]:
        return list(await self.engine.store.read(child_queries.children(chat_id)))

    async def child(self, chat_id: ChatId) -> ChatId:
        """The only one."""
        (found,) = await self.children(chat_id)
        return found.id

    async def outputs(self, chat_id: ChatId, name: str | None = None) -> list[Any]:
        """What tools answered, in order."""
        results = await self.engine.results(chat_id)
        return [result.output for result in results if name in (None, result.name)]

    async def notices(self, chat_id: ChatId) -> list[str]:
        """What sub-agents' notices say."""
        return [
            part.text
            for message in await self.engine.history(chat_id)
            for part in message.parts
            if isinstance(part, Notice) and part.code == "agent"
        ]

    async def times_told(self, chat_id: ChatId, text: str) -> int:
        """How often the chat was told something, by results and by notices."""
        return sum(_told(message).count(text) for message in await self.engine.history(chat_id))

    # Tools without a turn around them

    async def quiet(self, **more: Any) -> ChatId:
        """A chat that nobody runs, as long as no worker is started."""
        return await self.engine.create("Nobody answers.", **more)

    async def call(
        self,
        chat_id: ChatId,
        name: str,
        given: dict[str, Any] | None = None,
        call_id: str = "",
        tools: ToolRegistry | None = None,
    ) -> Called:
        """As a turn would call it, but for the commit of its result."""
        tool = (tools or self.engine.tools).get(name)
        assert tool is not None
        assert tool.run is not None
        context = ToolContext(
            chat_id=chat_id,
            owner_id=OWNER,
            workspace_id=(await self.engine.chat(chat_id)).workspace_id,
            call_id=CallId(call_id or f"call-{next(self._numbers)}"),
            run=1,
        )
        answering = tool.run(context, tool.parse(given or {}))
        assert not isinstance(answering, ToolAnswer)
        answer = await answering
        return Called(answer.output, answer.consumes)


def _told(message: Message) -> str:
    texts = [str(part.output) for part in message.parts if isinstance(part, ToolResult)]
    return "\n".join(texts + [part.text for part in message.parts if isinstance(part, Notice)])


def spawn(prompt: str, **more: Any) -> Call:
    return Call("spawn_agent", {"prompt": prompt, **more})


@asynccontextmanager
async def a_scene(url: str, tmp_path: Path) -> AsyncGenerator[Scene]:
    tools = Toolbox()
    async with opened(url, tmp_path, tools) as engine:
        yield Scene(engine, tools)
