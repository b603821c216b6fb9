"""The writers of a floor: each waits for its bytes to be durable before it passes on the next."""

from dataclasses import dataclass
from typing import Protocol

from bench.floor.recorded import Filling, of_a_step, of_an_edit
from bench.measure import Stopwatch
from bench.serve import side_by_side
from bench.task import Figures, Task

COMMITS_OF_A_STEP = 2
# Items in the queue of the hot chat, as in bench/ours/transitions.py.
QUEUED = 4


@dataclass(frozen=True, slots=True)
class Commit:
    """The rows of one transition, the `number`-th of its chat from 1 on."""

    chat: str
    number: int
    filling: Filling

    @property
    def item(self) -> int:
        """The call or the step: two commits belong to each."""
        return (self.number + 1) // COMMITS_OF_A_STEP


def id_of(number: int) -> str:
    """As ours are: a uuid, as text."""
    return f"00000000-0000-7000-8000-{number:012x}"


class Floor(Protocol):
    async def create(self, chats: list[str]) -> None:
        """A row for each of them, at version 0."""
        ...

    async def commit(self, commit: Commit) -> None:
        """Returns when it is durable."""
        ...

    async def close(self) -> None: ...


async def drive(floor: Floor, task: Task) -> Figures:
    try:
        match task.work:
            case "hot":
                return await _edit(floor, task)
            case "script":
                return await _script(floor, task)
            case _:
                return await _step(floor, task)
    finally:
        await floor.close()


async def _step(floor: Floor, task: Task) -> Figures:
    """Every writer on a chat of its own. Of turns, steps are counted, of transitions each commit."""
    fillings = of_a_step(task.engine)
    turns = task.work == "turns"
    laps = task.each * (task.steps if turns else 1)
    commits = COMMITS_OF_A_STEP if turns else 1
    chats = [id_of(number) for number in range(task.at_once + 1)]
    await floor.create(chats)
    stopwatch = Stopwatch(task)

    async def write(number: int) -> None:
        chat, version = chats[number], 0
        for _ in range(laps):
            stopwatch.lap(chat)
            for _ in range(commits):
                version += 1
                await floor.commit(Commit(chat, version, fillings[(version - 1) % 2]))
        stopwatch.end(chat)

    await write(task.at_once)
    return await stopwatch.time(side_by_side(task.at_once, write), task.at_once * laps)


async def _script(floor: Floor, task: Task) -> Figures:
    """So many agents, each begun and ended by a commit on a chat of its own."""
    fillings = of_a_step(task.engine)
    chats = [id_of(number) for number in range(task.each)]
    await floor.create(chats)
    stopwatch = Stopwatch(task)
    waiting = iter(chats)

    async def write(_: int) -> None:
        for chat in waiting:
            stopwatch.lap(chat)
            for version in range(1, COMMITS_OF_A_STEP + 1):
                await floor.commit(Commit(chat, version, fillings[version - 1]))
            stopwatch.end(chat)

    return await stopwatch.time(side_by_side(task.at_once, write), task.each)


async def _edit(floor: Floor, task: Task) -> Figures:
    """All writers on the same chat."""
    filling = of_an_edit(task.engine)
    hot = id_of(0)
    await floor.create([hot])
    stopwatch = Stopwatch(task)
    last = 0

    async def write(number: int) -> None:
        nonlocal last
        for _ in range(task.each):
            stopwatch.lap(str(number))
            last += 1
            await floor.commit(Commit(hot, last, filling))
        stopwatch.end(str(number))

    await write(task.at_once)
    return await stopwatch.time(side_by_side(task.at_once, write), task.at_once * task.each)
