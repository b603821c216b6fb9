"""What clients do while victims are killed: small plays, each with a chat. They know nothing of the kills:
whatever they ask is asked again until it is answered."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from holdfast.core.ids import ChatId, MessageId
from tests.crash.scripts import call, calls, message, one, slowly
from tests.crash.stage import Stage
from tests.crash.summaries import FULL
from tests.crash.victim import MODELS

Play = Callable[[Stage, Random], Awaitable[None]]
TOOLS = ("pay", "stamp", "look")


async def streaming(stage: Stage, chance: Random) -> None:
    await _begin(stage, chance, slowly(chance.uniform(0.3, 1.0)))


async def one_call(stage: Stage, chance: Random) -> None:
    await _begin(stage, chance, a_call(chance, chance.choice(TOOLS)))


async def steps(stage: Stage, chance: Random) -> None:
    await _begin(stage, chance, *(a_call(chance, tool, 0.1) for tool in TOOLS))


async def batch(stage: Stage, chance: Random) -> None:
    await _begin(stage, chance, five(chance))


async def queued(stage: Stage, chance: Random) -> None:
    """Three messages wait behind a turn."""
    chat_id, _ = await _begin(stage, chance, call("look", after=chance.uniform(0.1, 0.5)))
    for _ in range(3):
        script = chance.choice((slowly(0.1), call("pay"), call("stamp")))
        await stage.send(chat_id, message(script), model=chance.choice((None, *MODELS)))


async def rearranged(stage: Stage, chance: Random) -> None:
    """Of three that wait, one is deleted and the last is sent now."""
    chat_id, _ = await _begin(stage, chance, call("look", after=chance.uniform(0.3, 0.8)))
    waiting = [(await stage.send(chat_id, message(call("pay")))).told for _ in range(3)]
    items = [told.item_id for told in waiting if told is not None and told.item_id is not None]
    if len(items) == 3:
        await stage.delete_queued(chat_id, items[1])
        await stage.promote(chat_id, items[2])


async def interrupted(stage: Stage, chance: Random) -> None:
    """While it streams or while tools run, by a bare interrupt or by a message."""
    script = chance.choice((slowly(1.5), five(chance, 1.5)))
    chat_id, _ = await _begin(stage, chance, script)
    await asyncio.sleep(chance.uniform(0.0, 0.6))
    if chance.random() < 0.3:
        await stage.interrupt(chat_id)
    for _ in range(chance.choice((1, 1, 2))):
        model = chance.choice((None, *MODELS))
        await stage.send(chat_id, message(call("pay")), "interrupt", model)


async def steered(stage: Stage, chance: Random) -> None:
    chat_id, _ = await _begin(stage, chance, call("look", after=0.3), call("pay", after=0.2))
    for _ in range(chance.choice((1, 2))):
        await asyncio.sleep(chance.uniform(0.0, 0.3))
        await stage.send(chat_id, message(call("stamp")), "steer")


async def edited(stage: Stage, chance: Random) -> None:
    """While it works, with a message that waits."""
    chat_id, message_id = await _begin(stage, chance, five(chance, 0.8))
    await stage.send(chat_id, message(call("pay")))
    await asyncio.sleep(chance.uniform(0.0, 0.6))
    await stage.edit(chat_id, message_id, message(a_call(chance, "pay")))


async def full(stage: Stage, chance: Random) -> None:
    """The context fills up in the middle of a turn."""
    await _begin(stage, chance, FULL, call("pay"))


async def summarised(stage: Stage, chance: Random) -> None:
    """Somebody asks for a summary between turns."""
    chat_id, _ = await _begin(stage, chance, call("pay"))
    await stage.until_chat(chat_id, lambda chat: chat.status == "idle")
    await stage.compact(chat_id)
    await stage.send(chat_id, message(call("look")))


async def asking(stage: Stage, chance: Random) -> None:
    """Somebody must approve, and the caller's own tool must answer; both are answered twice."""
    chat_id, _ = await _begin(stage, chance, "calls: order {}; client_look {}; look {}")
    chat = await stage.until_chat(chat_id, lambda chat: chat.action is not None)
    assert chat.action is not None
    for waiting in chat.action.calls:
        for _ in range(2):
            if waiting.kind == "approval":
                await stage.decide(chat_id, waiting.call_id, "approve")
            else:
                await stage.submit(chat_id, waiting.call_id, "seen")


async def failing(stage: Stage, chance: Random) -> None:
    """The provider is overloaded once."""
    await _begin(stage, chance, "fail: overloaded 1", call("pay"))


PLAYS: tuple[Play, ...] = (
    streaming,
    one_call,
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
)


def five(chance: Random, longest: float = 0.4) -> str:
    """Five calls at once, of every kind."""
    tools = [*TOOLS, "pay", chance.choice(TOOLS)]
    before, after = [chance.uniform(0, 0.2) for _ in tools], [chance.uniform(0, longest) for _ in tools]
    return calls(*(one(tools[n], before=before[n], after=after[n]) for n in range(5)))


def a_call(chance: Random, tool: str, longest: float = 0.4) -> str:
    return call(tool, before=chance.uniform(0, longest), after=chance.uniform(0, longest))


async def _begin(stage: Stage, chance: Random, *script: str) -> tuple[ChatId, MessageId]:
    """A chat with this script: a new one, or one of an earlier play."""
    model = chance.choice(tuple(MODELS))
    if not stage.rested or chance.random() < 0.6:
        return await stage.created(message(*script), model)
    chat_id = stage.rested.pop(chance.randrange(len(stage.rested)))
    told = (await stage.send(chat_id, message(*script), model=model)).told
    assert told is not None
    assert told.message_id is not None
    return chat_id, told.message_id
