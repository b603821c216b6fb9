"""What people do while things break: small plays, each with a chat of its own. They know nothing of the
faults: whatever they ask is asked again until it is answered."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from tests.chaos.clients import Clients
from tests.chaos.scripts import Scripts, Tags, call, calls
from tests.crash.summaries import FULL

CLIENT_TOOL = {"name": "client_look", "description": "Looks.", "input_schema": {"type": "object"}}
WORKFLOW = """\
meta = {"name": "pair", "description": "Two agents at once"}
return await parallel([lambda prompt=prompt: agent(prompt) for prompt in args["prompts"]])
"""
MODELS = ("default", "other")


class Cast:
    """Who plays one play, and where. `began` is told of every chat at its first moment."""

    def __init__(
        self,
        clients: Clients,
        tags: Tags,
        chance: Random,
        workspace_id: str,
        began: Callable[[str], None],
    ) -> None:
        self.clients = clients
        self.scripts = Scripts(tags, chance)
        self.chance = chance
        self._workspace_id = workspace_id
        self._began = began

    async def begin(self, *steps: str, **more: Any) -> str:
        text, tag = self.scripts.message(*steps)
        chat_id = await self.clients.create(
            text, tag, workspace_id=self._workspace_id, model=self.chance.choice(MODELS), **more
        )
        self._began(chat_id)
        return chat_id

    async def run(self, script: str, prompts: list[str]) -> None:
        args = {"prompts": prompts}
        await self.clients.run(script, "python", args=args, workspace_id=self._workspace_id)

    async def say(self, chat_id: str, *steps: str, busy: Any = "queue", **more: Any) -> Any:
        text, tag = self.scripts.message(*steps)
        return await self.clients.send(chat_id, text, tag, busy, **more)

    async def pause(self, longest: float) -> None:
        await asyncio.sleep(self.chance.uniform(0, longest))


Play = Callable[[Cast], Awaitable[None]]


async def streaming(cast: Cast) -> None:
    await cast.begin(cast.scripts.say(cast.chance.uniform(0.5, 2.5)), title="kept as it was written")


async def steps(cast: Cast) -> None:
    made = [call(cast.scripts.some_call()) for _ in range(3)]
    await cast.begin(cast.scripts.say(0.3), *made)


async def batch(cast: Cast) -> None:
    await cast.begin(calls(*(cast.scripts.some_call(0.8) for _ in range(5))))


async def queued(cast: Cast) -> None:
    """Three messages wait behind a turn."""
    chat_id = await cast.begin(cast.scripts.say(1.0))
    for _ in range(3):
        await cast.say(chat_id, call(cast.scripts.some_call()), model=cast.chance.choice(MODELS))


async def rearranged(cast: Cast) -> None:
    """Of four that wait, one is deleted, one moved, one rewritten, and the last is sent now."""
    chat_id = await cast.begin(cast.scripts.say(2.0))
    waiting = [await cast.say(chat_id, cast.scripts.say(0.2)) for _ in range(4)]
    items = [one.json["queued"]["id"] for one in waiting if "queued" in one.json]
    if len(items) == 4:
        await cast.clients.on_queued("delete", chat_id, items[1])
        await cast.clients.on_queued("change", chat_id, items[2], position=0)
        text, tag = cast.scripts.message()
        await cast.clients.on_queued("change", chat_id, items[0], content=text, tag=tag)
        await cast.clients.on_queued("promote", chat_id, items[3])


async def interrupted(cast: Cast) -> None:
    """While it streams or while commands run, by a bare interrupt or by a message."""
    script = cast.chance.choice((cast.scripts.say(2.0), call(cast.scripts.command(0.2, 1.5))))
    chat_id = await cast.begin(script)
    await cast.pause(1.5)
    if cast.chance.random() < 0.4:
        await cast.clients.on_chat("interrupt", chat_id)
    for _ in range(cast.chance.choice((1, 2))):
        await cast.say(chat_id, call(cast.scripts.command()), busy="interrupt")


async def steered(cast: Cast) -> None:
    chat_id = await cast.begin(call(cast.scripts.command(0, 0.5)), call(cast.scripts.command(0, 0.3)))
    for _ in range(2):
        await cast.pause(0.4)
        await cast.say(chat_id, busy="steer")


async def edited(cast: Cast) -> None:
    """The first message is written anew while it is answered and another one waits."""
    chat_id = await cast.begin(cast.scripts.say(1.0), call(cast.scripts.command(0.1, 0.5)))
    await cast.say(chat_id, call(cast.scripts.command()))
    await cast.pause(1.0)
    first = (await cast.clients.everything(f"chats/{chat_id}/messages"))[0]
    text, tag = cast.scripts.message(call(cast.scripts.command()))
    await cast.clients.edit(chat_id, first["id"], text, tag)


async def full(cast: Cast) -> None:
    """The context fills up in the middle of a turn."""
    await cast.begin(FULL, call(cast.scripts.command()))


async def summarised(cast: Cast) -> None:
    """Somebody asks for a summary between turns."""
    chat_id = await cast.begin(call(cast.scripts.command()))
    await cast.clients.until(chat_id, lambda chat: chat["status"] in ("idle", "error"))
    await cast.clients.on_chat("compact", chat_id)
    await cast.say(chat_id, call(cast.scripts.some_call()))


async def asking(cast: Cast) -> None:
    """Somebody must approve, answer a question, and the caller's own tool must answer; all of it twice."""
    question = 'ask_user {"questions": [{"id": "why", "text": "Why?"}]}'
    chat_id = await cast.begin(
        calls(cast.scripts.command(), question, "client_look {}", 'list {"path": "."}'),
        client_tools=[CLIENT_TOOL],
        tools={"execute": "ask"},
    )
    chat = await cast.clients.until(chat_id, lambda chat: chat["status"] not in ("running", "interrupting"))
    await cast.clients.answer_all(chat, times=2)


async def failing(cast: Cast) -> None:
    """The provider is overloaded once."""
    await cast.begin("fail: overloaded 1", call(cast.scripts.command()))


async def agents(cast: Cast) -> None:
    """Two sub-agents at once, which are waited for."""
    spawning = calls(cast.scripts.agent("first"), cast.scripts.agent("second"))
    await cast.begin(spawning, call("wait_agents {}"), cast.scripts.say(0.5))


async def workflow(cast: Cast) -> None:
    """A script with two agents at once, each with a command of its own."""
    prompts = [cast.scripts.message(call(cast.scripts.command(0, 0.3)))[0] for _ in range(2)]
    await cast.run(WORKFLOW, prompts)


async def renamed(cast: Cast) -> None:
    chat_id = await cast.begin(cast.scripts.say(0.5))
    await cast.clients.rename(chat_id, f"named by hand {cast.chance.randrange(1000)}")
    await cast.say(chat_id)


PLAYS: tuple[Play, ...] = (
    streaming,
    steps,
    batch,
    queued,
    rearranged,
    interrupted,
    steered,
    edited,
    full,
    summarised,
    asking,
    failing,
    agents,
    workflow,
    renamed,
)


def chosen(chance: Random, count: int) -> list[Play]:
    """As different as they can be."""
    rest = count
    picked: list[Play] = []
    while rest > 0:
        picked += chance.sample(PLAYS, min(rest, len(PLAYS)))
        rest = count - len(picked)
    return picked
