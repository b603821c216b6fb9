"""Families of agents under fire: plays in which chats start sub-agents, wait for them or are told, and a
judge who counts in the histories of parents how often each result arrived."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from random import Random

from holdfast.core.messages import Message
from holdfast.core.parts import Notice, Text, ToolResult
from tests.crash.clients import SETTLE_SECONDS
from tests.crash.orders import Dump
from tests.crash.scripts import TAG, new_tag
from tests.crash.stage import Stage
from tests.crash.summaries import first_tag
from tests.providers.answering import Asked
from tests.providers.replies import Call, Reply, Say

# A reply, or what to make one of.
Step = Reply | Callable[[Asked], Reply]
AT_ONCE = 8
_AGENT = re.compile(r"""agent_id[\\"': ]+([0-9a-f-]{36})""")


class Families:
    """The scripts of one stage, by the tag of the message that a chat began with. Notices do not disturb
    them: a script goes on by the number of answers that the chat has."""

    def __init__(self, stage: Stage) -> None:
        self._scripts: dict[str, Sequence[Step]] = {}
        self._other = stage.provider.answer
        stage.provider.answer = self._answer

    def script(self, *steps: Step) -> str:
        """The message that begins it. Behind its end everything that it says is another thing."""
        tag = new_tag()
        self._scripts[tag] = steps
        return f"[{tag}]"

    def _answer(self, asked: Asked) -> Reply | None:
        steps = self._scripts.get(tag := first_tag(asked))
        if steps is None:
            return self._other(asked) if self._other else None
        answered = sum(message["role"] == "assistant" for message in asked.body["messages"])
        if answered >= len(steps):
            return Reply(content=(Say(f"<<{tag} said {answered} {tag}>>"),))
        step = steps[answered]
        return step if isinstance(step, Reply) else step(asked)


def wait() -> Reply:
    return Reply(content=(Call("wait_agents"),))


def spawn(prompts: Sequence[str]) -> list[Step]:
    """Some at once, in as many steps as it takes."""
    groups = [prompts[n : n + AT_ONCE] for n in range(0, len(prompts), AT_ONCE)]
    return [
        Reply(content=tuple(Call("spawn_agent", {"prompt": prompt}) for prompt in group)) for group in groups
    ]


def with_agent(tool: str, **more: str) -> Step:
    """A call about the first sub-agent that the request speaks of."""

    def step(asked: Asked) -> Reply:
        found = _AGENT.search(asked.raw.decode())
        assert found is not None
        return Reply(content=(Call(tool, {"agent_id": found[1], **more}),))

    return step


def leaf(families: Families, chance: Random) -> str:
    """Looks at something for a moment and tells."""
    given = {"after_seconds": round(chance.uniform(0.0, 0.6), 3)}
    return families.script(Reply(content=(Call("look", given),)))


# --- plays ---


async def wide(stage: Stage, families: Families, chance: Random, count: int = 30) -> None:
    """All at once, and waited for."""
    await _play(stage, families.script(*spawn([leaf(families, chance) for _ in range(count)]), wait()))


async def deep(stage: Stage, families: Families, chance: Random, depth: int = 30) -> None:
    """Each waits for the one that it started."""
    message = leaf(families, chance)
    for _ in range(depth - 1):
        message = families.script(*spawn([message]), wait())
    await _play(stage, families.script(*spawn([message]), wait()))


async def tree(stage: Stage, families: Families, chance: Random) -> None:
    """Thirty in three generations; some wait, the others are told."""
    below: list[str] = []
    for _ in range(5):
        steps = spawn([leaf(families, chance) for _ in range(5)])
        below.append(families.script(*steps, *([wait()] if chance.random() < 0.5 else [])))
    await _play(stage, families.script(*spawn(below), *([wait()] if chance.random() < 0.5 else [])))


async def noticed(stage: Stage, families: Families, chance: Random) -> None:
    """Nobody waits."""
    await _play(stage, families.script(*spawn([leaf(families, chance) for _ in range(10)])))


async def revived(stage: Stage, families: Families, chance: Random) -> None:
    """One is told something when it has ended, and stopped when it has ended again."""
    again = with_agent("message_agent", text=f"[{new_tag()}] once more")
    steps = (*spawn([leaf(families, chance)]), wait(), again, wait(), with_agent("stop_agent"))
    await _play(stage, families.script(*steps))


async def _play(stage: Stage, message: str) -> None:
    root = await stage.create(message)
    async with asyncio.timeout(SETTLE_SECONDS):
        while not await stage.rests(root):  # noqa: ASYNC110 - in another process, which may be dead
            await asyncio.sleep(0.05)


# --- the judge ---


async def judge_families(stage: Stage) -> list[str]:
    dumps = tuple((await stage.dumps()).values())
    return [f"chat {dump.chat.id}: {text}" for dump in dumps for text in _told(dump, dumps)]


def _told(parent: Dump, everybody: Sequence[Dump]) -> Iterator[str]:
    children = [dump for dump in everybody if dump.chat.parent_id == parent.chat.id]
    spawned = [call for call in parent.calls if call.name == "spawn_agent"]
    if {call.call_id for call in spawned} != {child.chat.parent_call_id for child in children} or len(
        spawned
    ) != len(children):
        yield f"{len(spawned)} calls started {len(children)} sub-agents"
    said = "\n".join(_heard(parent))
    for child in children:
        for result in _results(child):
            if (times := said.count(result)) != 1:
                yield f"the result {result} of {child.chat.id} was told {times} times"
        if len(_prompts(child)) != len(set(_prompts(child))):
            yield f"{child.chat.id} was told something twice: {_prompts(child)}"


def _heard(dump: Dump) -> Iterator[str]:
    for message in dump.messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                yield json.dumps(part.output)
            elif isinstance(part, Notice):
                yield part.text


def _results(child: Dump) -> list[str]:
    """The last words of its turns: nothing else is said in these plays."""
    said = (_text(message) for message in child.messages if message.role == "assistant")
    return [text for text in said if text]


def _prompts(child: Dump) -> list[str]:
    texts = [_text(message) for message in child.messages if message.role == "user"]
    return [found[1] for text in texts if (found := TAG.search(text))]


def _text(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, Text))
