"""Transitions of the store as a contender, on many chats or on one hot chat:
`python -m bench.ours.transitions`."""

from bench.measure import Stopwatch
from bench.ours.opened import opened
from bench.ours.working import OWNER, calls_begun, fence_of, finished, said
from bench.serve import serve, side_by_side
from bench.task import Figures, Task
from holdfast.chats.commands import BeginAttempt, Command, Create, EditQueued, Send
from holdfast.chats.view import Queued, View
from holdfast.core.chats import Settings
from holdfast.core.clock import SystemClock
from holdfast.core.ids import ChatId, QueueItemId, RandomIds
from holdfast.store.interface import Applied, Store

LEASE_SECONDS = 600.0
# Items that wait in the queue of the hot chat; its writers edit them in turn.
QUEUED = 4


async def run(task: Task) -> Figures:
    async with opened(task) as (store, _):
        return await (_hot(store, task) if task.work == "hot" else _many(store, task))


async def _many(store: Store, task: Task) -> Figures:
    """What a worker commits for steps with one call each, on the view that the last commit returned."""
    for _ in range(task.at_once):
        await _create(store)
    worker = await store.register_worker("bench", LEASE_SECONDS)
    views: list[View] = []
    while len(views) < task.at_once:
        views += await store.acquire(worker, limit=task.at_once, agents_limit=0)
    stopwatch = Stopwatch(task)

    async def write(number: int) -> None:
        view = await _commit(store, views[number], BeginAttempt())
        for count in range(task.each):
            stopwatch.lap(view.chat.id)
            ready = finished(view) if count % 2 else calls_begun()
            view = await _commit(store, view, *ready)
        stopwatch.end(view.chat.id)

    return await stopwatch.time(side_by_side(task.at_once, write), task.at_once * task.each)


async def _hot(store: Store, task: Task) -> Figures:
    """What people ask of one chat at the same time: each command is decided on what the one before left."""
    chat_id = await _create(store)
    items: list[QueueItemId] = []
    for _ in range(QUEUED):
        applied = await store.transition(chat_id, Send(parts=said("wait"), created_by=OWNER))
        assert isinstance(applied, Applied)
        assert isinstance(applied.change.answer, Queued)
        items.append(applied.change.answer.id)
    stopwatch = Stopwatch(task)

    async def write(number: int) -> None:
        for count in range(task.each):
            stopwatch.lap(str(number))
            edit = EditQueued(item_id=items[number % QUEUED], parts=said(f"{number:03} said {count:05}"))
            assert isinstance(await store.transition(chat_id, edit), Applied)
        stopwatch.end(str(number))

    return await stopwatch.time(side_by_side(task.at_once, write), task.at_once * task.each)


async def _create(store: Store) -> ChatId:
    chat_id = ChatId(RandomIds().uuid7(SystemClock().now()))
    create = Create(owner_id=OWNER, settings=Settings(), parts=said("go"))
    assert isinstance(await store.transition(chat_id, create), Applied)
    return chat_id


async def _commit(store: Store, view: View, *commands: Command) -> View:
    result = await store.transition(view.chat.id, *commands, fence=fence_of(view), view=view)
    assert isinstance(result, Applied), result
    assert result.view is not None
    return result.view


if __name__ == "__main__":
    serve(run)
