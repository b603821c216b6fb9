"""Connections that break at the worst moment, and a server that goes away: nothing acknowledged is lost,
nothing is done twice, nobody waits for ever."""

import asyncio
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from holdfast.chats.commands import Delete, Send, StartCalls
from holdfast.chats.view import View
from holdfast.core.errors import InvalidInput, Shortage, StoreClosed, TryAgain
from holdfast.core.ids import CallId
from holdfast.store import messages
from holdfast.store.interface import Applied, Once, Replayed
from holdfast.store.postgres import open_postgres
from holdfast.store.postgres.connect import DatabaseAddress
from holdfast.store.postgres.store import PostgresStore
from tests.postgres import Postgres
from tests.store.postgres.replicas import applied, created, fence_of, nowhere, owned, replica
from tests.store.world import answer, call, finished, fresh_id, renewed, text
from tests.tcp_proxy import TcpProxy

# Each needs a database made for it.
pytestmark = pytest.mark.heavy

NEEDLE = "needle-in-the-stream"


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[TcpProxy]:
    async with TcpProxy(postgres_url) as proxy:
        yield proxy


def break_at(proxy: TcpProxy, sign: bytes, *, committed: bool) -> asyncio.Event:
    """At the next packet with this sign the answers vanish (or the packet itself does), then the line is
    cut."""
    broken = asyncio.Event()

    def watch(data: bytes) -> None:
        if sign not in data or broken.is_set():
            return
        broken.set()
        proxy.mode = "mute" if committed else "black_hole"
        asyncio.get_running_loop().call_later(0.2, heal)

    def heal() -> None:
        proxy.mode = "pass"
        proxy.cut()

    proxy.watch = watch
    return broken


def _apart_from_renewal(found: View | None, told: View) -> View | None:
    """What was found, if nobody had renewed the lease since: a worker whose connection breaks does at once,
    so as not to be taken for dead. It never loses any of its lease."""
    if found is None or found.chat.lease is None or told.chat.lease is None:
        return found
    assert found.chat.lease.expires_at >= told.chat.lease.expires_at
    lease = replace(found.chat.lease, expires_at=told.chat.lease.expires_at)
    return replace(found, chat=replace(found.chat, lease=lease))


async def texts(store: PostgresStore, view: View) -> list[Any]:
    page = await store.read(messages.page(view.chat.id, limit=100))
    return [getattr(part, "text", None) for message in page for part in message.parts]


@pytest.mark.parametrize("committed", [True, False])
async def test_an_owners_commit_that_is_never_answered(proxy: TcpProxy, committed: bool) -> None:
    hints: list[Any] = []
    async with replica(proxy.url, publish=hints.append) as store:
        [view] = await owned(store)
        broken = break_at(proxy, NEEDLE.encode(), committed=committed)
        call_id = CallId("c1")
        commands = (answer(call(call_id), content=NEEDLE), StartCalls(call_ids=(call_id,)))
        after = applied(await store.transition(view.chat.id, *commands, fence=fence_of(view), view=view))
        assert broken.is_set()
        assert after.chat.version == view.chat.version + 1
        assert _apart_from_renewal(await store.view(view.chat.id), after) == after
        assert (await texts(store, view)).count(NEEDLE) == 1
        # And it goes on from there.
        applied(await store.transition(view.chat.id, finished(call_id), fence=fence_of(after), view=after))
        assert await store.check() == []


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("meanwhile", [False, True])
@pytest.mark.parametrize("locked", [False, True])
async def test_a_message_whose_commit_is_never_answered(
    proxy: TcpProxy, postgres_url: str, committed: bool, meanwhile: bool, locked: bool
) -> None:
    async with replica(proxy.url) as store, replica(postgres_url) as other:
        view = await created(store)
        sent = Send(parts=text(NEEDLE), created_by=view.chat.owner_id)
        if locked:
            sending, broken = await _sent_under_lock(store, proxy, postgres_url, view, sent, committed)
        else:
            broken = break_at(proxy, NEEDLE.encode(), committed=committed)
            sending = asyncio.ensure_future(store.transition(view.chat.id, sent))
        await broken.wait()
        if meanwhile:
            # Somebody else moves the chat before it is known what became of the message.
            mine = Send(parts=text("mine"), created_by=view.chat.owner_id)
            applied(await other.transition(view.chat.id, mine))
        assert isinstance(await sending, Applied)
        now = await store.view(view.chat.id)
        assert now is not None
        assert [getattr(item.parts[0], "text", "") for item in now.queue].count(NEEDLE) == 1
        assert len(now.queue) == 1 + meanwhile


async def _sent_under_lock(
    store: PostgresStore, proxy: TcpProxy, url: str, view: View, sent: Send, committed: bool
) -> tuple[asyncio.Future[Any], asyncio.Event]:
    """Somebody holds the row, so it is waited for, decided under the lock and committed by a COMMIT."""
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        await connection.execute("SELECT 1 FROM chats WHERE id = $1 FOR UPDATE", view.chat.id)
        sending = asyncio.ensure_future(store.transition(view.chat.id, sent))
        await _somebody_waits(url)
        broken = break_at(proxy, b"COMMIT", committed=committed)
    await connection.close()
    return sending, broken


async def _somebody_waits(url: str) -> None:
    """For a lock in this database. A connection of its own: within a transaction one always sees the same."""
    connection = await asyncpg.connect(url)
    waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    waiting = False
    while not waiting:
        await asyncio.sleep(0.02)
        waiting = await connection.fetchval(waits)
    await connection.close()


@pytest.mark.parametrize("committed", [True, False])
async def test_an_idempotent_request_whose_commit_is_never_answered(proxy: TcpProxy, committed: bool) -> None:
    async with replica(proxy.url) as store:
        view = await created(store)
        once = Once(
            view.chat.owner_id, "POST", "/x", "key", "f", lambda told: (201, told.change.chat_id.encode())
        )
        sent = Send(parts=text(NEEDLE), created_by=view.chat.owner_id)
        broken = break_at(proxy, b"COMMIT", committed=committed)
        told = await store.transition(view.chat.id, sent, once=once)
        assert broken.is_set()
        assert isinstance(told, Applied | Replayed)
        again = await store.transition(view.chat.id, sent, once=once)
        assert again == Replayed(201, view.chat.id.encode())
        now = await store.view(view.chat.id)
        assert now is not None
        assert len(now.queue) == 1


@pytest.mark.parametrize("committed", [True, False])
async def test_a_deletion_whose_commit_is_never_answered(proxy: TcpProxy, committed: bool) -> None:
    async with replica(proxy.url) as store:
        view = await created(store)
        break_at(proxy, b"COMMIT", committed=committed)
        told = await store.transition(view.chat.id, Delete())
        assert isinstance(told, Applied)
        assert await store.view(view.chat.id) is None


@pytest.mark.parametrize("committed", [True, False])
async def test_an_acquisition_whose_commit_is_never_answered(proxy: TcpProxy, committed: bool) -> None:
    """A worker must know what it owns: nobody else may take it while it lives."""
    async with replica(proxy.url) as store:
        chats = {(await created(store)).chat.id for _ in range(3)}
        worker = await store.register_worker("w", 3600)
        broken = break_at(proxy, b"COMMIT", committed=committed)
        views = await store.acquire(worker, limit=10, agents_limit=0)
        assert broken.is_set()
        views += await store.acquire(worker, limit=10, agents_limit=0)
        assert {view.chat.id for view in views} == chats
        assert len(views) == 3
        for view in views:
            applied(await store.transition(view.chat.id, answer(), fence=fence_of(view), view=view))


async def test_a_server_that_does_not_answer_is_try_again(proxy: TcpProxy) -> None:
    async with replica(proxy.url, wait_seconds=1) as store:
        view = await created(store)
        proxy.cut()
        proxy.mode = "black_hole"
        with pytest.raises(TryAgain):
            await store.view(view.chat.id)
        with pytest.raises(TryAgain):
            await store.transition(view.chat.id, Send(parts=text("x"), created_by=view.chat.owner_id))
        proxy.mode = "pass"
        proxy.cut()
        assert await store.view(view.chat.id) == view


async def test_a_pool_that_is_used_up_is_try_again(postgres_url: str) -> None:
    async with replica(postgres_url, reading=1, writing=1, wait_seconds=0.5) as store:
        view = await created(store)
        connection = await asyncpg.connect(postgres_url)
        async with connection.transaction():
            await connection.execute("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE")
            reading = asyncio.ensure_future(store.read(messages.page(view.chat.id)))
            await asyncio.sleep(0)  # it has the only connection now
            with pytest.raises(TryAgain):
                await store.view(view.chat.id)
        await connection.close()
        assert len(await reading) == 1
        assert await store.view(view.chat.id) == view


async def test_a_killed_backend_is_replaced_without_anybody_noticing(postgres_url: str) -> None:
    async with replica(postgres_url) as store:
        [view] = await owned(store)
        killer = await asyncpg.connect(postgres_url)
        for number in range(20):
            await killer.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'holdfast' AND datname = current_database()"
            )
            sent = Send(parts=text(f"m{number}"), busy="queue", created_by=view.chat.owner_id)
            if number < 15:
                view = applied(await store.transition(view.chat.id, sent))
            assert _apart_from_renewal(await store.view(view.chat.id), view) == view
        await killer.close()
        assert len(view.queue) == 15


async def test_a_closed_store_says_so(postgres_url: str) -> None:
    before = asyncio.all_tasks()
    store = await open_postgres(postgres_url, publish=nowhere)
    view = await created(store)
    assert await renewed(store, await store.register_worker("w", 3600), 3600)
    await store.close()
    calls: list[Callable[[], Coroutine[Any, Any, Any]]] = [
        lambda: store.view(view.chat.id),
        lambda: store.transition(view.chat.id, Delete()),
        lambda: store.transition(view.chat.id, Send(parts=text("x"), created_by=view.chat.owner_id)),
    ]
    for ask in calls:
        with pytest.raises(StoreClosed):
            await ask()
    assert asyncio.all_tasks() == before


async def test_whoever_stops_waiting_changes_nothing(postgres_url: str) -> None:
    async with replica(postgres_url) as store:
        view = await created(store)
        for number in range(10):
            sending = asyncio.ensure_future(
                store.transition(view.chat.id, Send(parts=text(f"{number}"), created_by=view.chat.owner_id))
            )
            await asyncio.sleep(0.0005 * number)
            sending.cancel()
            await asyncio.wait([sending])
        await asyncio.sleep(0.2)
        told = await store.transition(view.chat.id, Send(parts=text("last"), created_by=view.chat.owner_id))
        after = applied(told)
        assert await store.view(view.chat.id) == after
        assert await store.check() == []


async def test_a_backup_can_be_restored(postgres_url: str, tmp_path: Path) -> None:
    async with replica(postgres_url) as store:
        await created(store, "keep this")
        target = tmp_path / "copy.dump"
        if shutil.which("pg_dump") is None:
            with pytest.raises(InvalidInput, match="pg_dump was not found"):
                await store.backup(target)
            return
        try:
            await store.backup(target)
        except InvalidInput as error:
            if "older than the server" not in error.text:
                raise
            pytest.skip(error.text)
        assert await asyncio.to_thread(target.read_bytes) > b"PGDMP"
        assert (await asyncio.to_thread(target.stat)).st_mode & 0o077 == 0
        with pytest.raises(InvalidInput, match="already exists"):
            await store.backup(target)
        with pytest.raises(InvalidInput, match="cannot be written"):
            await store.backup(tmp_path / "nowhere" / "copy.dump")
    assert await asyncio.to_thread(os.listdir, tmp_path) == ["copy.dump"]


async def test_a_server_that_restarts_under_load(own_postgres: Postgres) -> None:
    """Fast and immediate restarts while 32 writers write: each is told "try again" or is answered, and
    whatever was acknowledged is there."""
    url = own_postgres.create_database("hf")
    async with replica(url) as store:
        views = await owned(store, 32)
        acknowledged: dict[str, list[str]] = {view.chat.id: [] for view in views}
        stop = False

        async def write(view: View) -> None:
            number = 0
            while not stop:
                number += 1
                word = f"{number}."
                try:
                    told = await store.transition(
                        view.chat.id, answer(content=word), fence=fence_of(view), view=view
                    )
                    view = applied(told)
                    acknowledged[view.chat.id].append(word)
                except TryAgain:
                    await asyncio.sleep(0.05)
                    view = await _present(store, view)

        writers = [asyncio.ensure_future(write(view)) for view in views]
        for mode in ("fast", "immediate", "fast"):
            await _more(acknowledged)
            await asyncio.to_thread(own_postgres.restart, mode)
        await _more(acknowledged)
        stop = True
        await asyncio.gather(*writers)
        for view in views:
            history = await store.read(messages.page(view.chat.id, limit=100_000))
            stored = [
                getattr(message.parts[0], "text", "") for message in history if message.role == "assistant"
            ]
            assert len(stored) == len(set(stored)), "something was written twice"
            assert set(acknowledged[view.chat.id]) <= set(stored)
        assert await store.check() == []


async def _more(acknowledged: dict[str, list[str]]) -> None:
    """Waits until everybody got on."""
    before = {chat_id: len(words) for chat_id, words in acknowledged.items()}
    behind = True
    while behind:
        await asyncio.sleep(0.05)
        behind = any(len(words) < before[chat_id] + 5 for chat_id, words in acknowledged.items())


async def _present(store: PostgresStore, view: View) -> View:
    while True:
        try:
            found = await store.view(view.chat.id)
        except TryAgain:
            await asyncio.sleep(0.05)
        else:
            assert found is not None
            return found


async def test_who_falls_silent_in_a_transaction_does_not_delay_who_takes_over(postgres_url: str) -> None:
    """No longer than the shortest lease."""
    address = DatabaseAddress.of(postgres_url)
    async with TcpProxy(postgres_url) as line:
        silent, other = (
            await DatabaseAddress.of(line.url).connect("writing"),
            await address.connect("writing"),
        )
        try:
            await other.execute(
                "INSERT INTO workers (id, name, started_at, expires_at) VALUES ($1, '', 0, 0)", fresh_id()
            )
            await silent.execute("BEGIN")
            await silent.execute("SELECT 1 FROM workers FOR UPDATE")
            line.mode = "black_hole"
            # Waits for the lock no longer than the settings of every connection let it.
            assert await other.fetch("SELECT 1 FROM workers FOR UPDATE") != []
        finally:
            silent.terminate()
            other.terminate()


async def test_a_renewal_does_not_wait_for_a_session_that_the_database_takes_for_alive(
    postgres_url: str,
) -> None:
    """The connection is dead and only one side knows it: the old session still has the worker's lock."""
    async with replica(postgres_url) as old, replica(postgres_url) as new:
        worker = await old.register_worker("half open", 15)
        assert await renewed(new, worker, 15)
        assert await renewed(new, worker, 15)


async def test_renewals_begin_when_there_is_a_thread_for_them(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refused(thread: threading.Thread) -> None:
        if thread.name == "holdfast-renewal":
            raise RuntimeError("can't start new thread")
        start(thread)

    async with replica(postgres_url) as store:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refused)
            with pytest.raises(Shortage):
                await store.register_worker("short of threads", 15)
        worker = await store.register_worker("short of threads", 15)
        assert await renewed(store, worker, 15)
