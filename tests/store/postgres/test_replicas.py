"""Several replicas on one database: who gets what, and that nobody blocks anybody."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
import time_machine

from holdfast.chats.change import Refusal
from holdfast.chats.commands import (
    Archive,
    Command,
    Delete,
    Edit,
    FinishTurn,
    Interrupt,
    Notify,
    Reconcile,
    Send,
    Stop,
    Unarchive,
)
from holdfast.chats.view import View
from holdfast.core.errors import TryAgain
from holdfast.core.events import Hint
from holdfast.core.ids import ChatId, MessageId
from holdfast.core.origins import FromChat
from holdfast.store import messages
from holdfast.store.interface import Applied, Once
from holdfast.store.postgres.store import PostgresStore
from tests.store.postgres.replicas import applied, created, fence_of, owned, replica
from tests.store.world import answer, renewed, text

# Each needs a database made for it.
pytestmark = pytest.mark.heavy


async def test_two_acquirers_take_each_of_100_orphans_once(postgres_url: str) -> None:
    async with replica(postgres_url) as first, replica(postgres_url) as second:
        gone = await first.register_worker("gone", 3600)
        chats = {view.chat.id for view in await asyncio.gather(*(created(first) for _ in range(100)))}
        assert len(await first.acquire(gone, limit=100, agents_limit=0)) == 100
        await first.retire(gone)

        async def acquire(store: PostgresStore) -> list[View]:
            worker = await store.register_worker("new", 3600)
            found: list[View] = []
            while more := await store.acquire(worker, limit=7, agents_limit=7):
                found += more
            return found

        views = [view for found in await asyncio.gather(*map(acquire, (first, second) * 4)) for view in found]
        assert len(views) == 100
        assert {view.chat.id for view in views} == chats
        assert {view.chat.lease_number for view in views} == {2}


async def test_a_twin_that_waited_for_the_lock_is_told_what_was_done(postgres_url: str) -> None:
    """An edit removes the message it names: decided again after its twin it would be refused."""
    outside = await asyncpg.connect(postgres_url)
    async with replica(postgres_url) as first, replica(postgres_url) as second:
        view = await created(first)
        (said,) = await first.read(messages.page(view.chat.id))
        edit = Edit(message_id=said.id, parts=text("better"), created_by=view.chat.owner_id)
        once: Once = Once(
            user_id=view.chat.owner_id,
            method="PATCH",
            path="/message",
            key="k",
            fingerprint="f",
            respond=lambda _: (200, b"done"),
        )
        try:
            async with outside.transaction():
                await outside.execute(
                    "SELECT 1 FROM chats WHERE id = $1::text::uuid FOR UPDATE", view.chat.id
                )
                twins = [
                    asyncio.create_task(store.transition(view.chat.id, edit, once=once))
                    for store in (first, second)
                ]
                await _until_waiting(outside, 2)
            told = await asyncio.gather(*twins)
        finally:
            await outside.close()
        assert sorted(type(answer).__name__ for answer in told) == ["Applied", "Replayed"]


async def _until_waiting(outside: "asyncpg.Connection[asyncpg.Record]", count: int) -> None:
    """For locks, whoever holds them."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    async with asyncio.timeout(60):
        while await outside.fetchval(waiting) < count:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def test_leases_are_judged_by_the_databases_clock(postgres_url: str) -> None:
    async with replica(postgres_url) as store:
        await created(store)
        first = await store.register_worker("first", 3600)
        second = await store.register_worker("second", 3600)
        [view] = await store.acquire(first, limit=1, agents_limit=0)
        with time_machine.travel(datetime.now(UTC) + timedelta(days=1)):
            assert await store.acquire(second, limit=1, agents_limit=0) == []
            assert await renewed(store, first, 0.5)
        taken: list[View] = []
        while not taken:
            await asyncio.sleep(0.05)
            taken = await store.acquire(second, limit=1, agents_limit=0)
        assert [other.chat.id for other in taken] == [view.chat.id]
        assert not await renewed(store, first, 3600)


async def test_a_row_that_somebody_locks_delays_only_its_own_chat(postgres_url: str) -> None:
    async with replica(postgres_url) as store:
        views = await owned(store, 16)
        connection = await asyncpg.connect(postgres_url)
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("SELECT 1 FROM chats WHERE id = $1 FOR UPDATE", views[0].chat.id)

        async def work(view: View) -> None:
            applied(await store.transition(view.chat.id, answer(), fence=fence_of(view), view=view))
            applied(
                await store.transition(view.chat.id, Send(parts=text("x"), created_by=view.chat.owner_id))
            )

        held = asyncio.ensure_future(work(views[0]))
        await asyncio.gather(*map(work, views[1:]))
        assert not held.done()
        await transaction.rollback()
        await connection.close()
        await held


async def test_a_row_that_stays_locked_is_try_again(postgres_url: str) -> None:
    async with replica(postgres_url) as store:
        [view] = await owned(store)
        connection = await asyncpg.connect(postgres_url)
        async with connection.transaction():
            await connection.execute("SELECT 1 FROM chats WHERE id = $1 FOR UPDATE", view.chat.id)
            with pytest.raises(TryAgain):
                await store.transition(view.chat.id, Interrupt())
        await connection.close()
        applied(await store.transition(view.chat.id, Interrupt()))


async def test_two_replicas_write_one_chat(postgres_url: str) -> None:
    async with replica(postgres_url) as first, replica(postgres_url) as second:
        view = await created(first)

        async def notify(number: int) -> int:
            store = (first, second)[number % 2]
            told = await store.transition(view.chat.id, Notify(source="test", key=str(number), text="x"))
            return applied(told).chat.version

        versions = await asyncio.gather(*map(notify, range(100)))
        assert sorted(versions) == list(range(view.chat.version + 1, view.chat.version + 101))


async def test_hints_follow_the_commit_on_the_replica_that_made_it(postgres_url: str) -> None:
    here, there = list[Hint](), list[Hint]()
    async with (
        replica(postgres_url, publish=here.append) as first,
        replica(postgres_url, publish=there.append),
    ):
        parent = await created(first)
        child = await created(first, origin=FromChat(chat_id=parent.chat.id), root_id=parent.chat.id)
        worker = await first.register_worker("w", 60)
        views = {v.chat.id: v for v in await first.acquire(worker, limit=5, agents_limit=5)}
        here.clear()
        view = views[child.chat.id]
        view = applied(await first.transition(child.chat.id, answer(), fence=fence_of(view), view=view))
        applied(await first.transition(child.chat.id, FinishTurn(), fence=fence_of(view), view=view))
        assert [(hint.chat_id, hint.delivery) for hint in here] == [
            (child.chat.id, False),
            (child.chat.id, False),
            (parent.chat.id, True),
        ]
        assert there == []


async def test_no_deadlock_whatever_is_done_to_families_at_once(postgres_url: str) -> None:
    """Commands on whole families and on single chats, from two replicas at once: everybody is answered, and
    nobody had to be told to try again."""
    async with replica(postgres_url) as first, replica(postgres_url) as second:
        families = [await _family(first, 4) for _ in range(4)]
        everyone = [chat_id for family in families for chat_id in family]
        roots = [family[0] for family in families]
        answers = 0

        async def torment(number: int) -> None:
            nonlocal answers
            chance = random.Random(number)
            store = (first, second)[number % 2]
            for _ in range(40):
                chat_id = chance.choice(everyone)
                command = await _some_command(store, chat_id, roots, chance)
                if isinstance(command, Archive | Unarchive):
                    chat_id = chance.choice(roots)
                told = await store.transition(chat_id, command)
                answers += 1
                assert isinstance(told, Applied | Refusal)
                if isinstance(command, Delete) and isinstance(told, Applied):
                    parent = chance.choice(roots)
                    root = await store.view(parent)
                    if root is not None:
                        child = await created(store, origin=FromChat(chat_id=parent), root_id=parent)
                        everyone.append(child.chat.id)

        await asyncio.gather(*map(torment, range(32)))
        assert answers == 32 * 40
        # A deadlock is found by the server after a second and then repeated: there must be none.
        connection = await asyncpg.connect(postgres_url)
        deadlocks = await connection.fetchval(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        )
        await connection.close()
        assert deadlocks == 0
        assert await first.check() == []


async def _family(store: PostgresStore, children: int) -> list[ChatId]:
    root = (await created(store)).chat.id
    below = [root]
    for number in range(children):
        # A tree, not a star: every second one hangs below another child.
        parent = below[-1] if number % 2 else root
        below.append((await created(store, origin=FromChat(chat_id=parent), root_id=root)).chat.id)
    return below


async def _some_command(
    store: PostgresStore, chat_id: ChatId, roots: list[ChatId], chance: random.Random
) -> Command:
    view = await store.view(chat_id)
    owner = view.chat.owner_id if view else None
    if owner is None:
        return Reconcile()
    kind = chance.randrange(20)
    if kind == 0 and chat_id not in roots:
        return Delete()
    if kind < 4:
        return Archive()
    if kind < 7:
        return Unarchive()
    if kind < 10:
        history = await store.read(messages.page(chat_id, limit=1))
        message_id = history[0].id if history else MessageId(chat_id)
        return Edit(message_id=message_id, parts=text("again"), created_by=owner)
    if kind < 13:
        return Stop()
    if kind < 15:
        return Interrupt()
    return Send(parts=text("more"), created_by=owner)
