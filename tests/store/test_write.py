"""`Store.write`: one transaction for what is not execution state, alone in its moment on both engines."""

import asyncio
from typing import Any

import pytest

from holdfast.core.accounts import StoredModel, StoredProvider
from holdfast.core.errors import Bug, InvalidInput
from holdfast.core.events import Configured
from holdfast.store import provider_configs
from holdfast.store.query import Query, Rows, announcing, joined, query
from tests.store.world import World, fresh_id

# Any table will do; this one has no rows that matter here.
PUT = (
    "INSERT INTO workers (id, name, started_at, expires_at) VALUES ($1, $2, 0, $3) "
    "ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at RETURNING id"
)
NAMED = "SELECT id FROM workers WHERE name = $1 ORDER BY id"
# Only as long as another one of this name is left.
RENAME = (
    "UPDATE workers SET name = 'gone' WHERE id = $1 AND name = $2 "
    "AND (SELECT count(*) FROM workers WHERE name = $2) > 1 RETURNING id"
)


def put(worker_id: str, name: str, expires_at: int = 0) -> Query[str]:
    return query(PUT, worker_id, name, expires_at, read=lambda rows: rows[0][0])


def ids(rows: Rows) -> list[str]:
    return [row[0] for row in rows]


async def test_what_was_written_is_answered_and_read_back(world: World) -> None:
    worker_id = fresh_id()
    assert await world.store.write(put(worker_id, "a")) == worker_id
    assert await world.store.read(query(NAMED, "a", read=ids)) == [worker_id]
    assert world.hints == []


async def test_a_write_publishes_what_it_carries_and_nothing_when_it_is_undone(world: World) -> None:
    def refuse(_: str) -> str:
        raise InvalidInput("not this one")

    told = announcing(put(fresh_id(), "a"), Configured())
    await world.store.write(told)
    assert world.hints == [Configured()]
    with pytest.raises(InvalidInput):
        await world.store.write(joined(told, read=refuse))
    # What it is part of carries it too.
    await world.store.write(joined(told, put(fresh_id(), "b"), read=lambda first, _: first))
    assert world.hints == [Configured(), Configured()]


async def test_every_change_of_providers_and_models_is_told(world: World) -> None:
    now = world.clock.now()
    provider = StoredProvider(name="p", config={}, sealed_key=None, created_at=now, updated_at=now)
    model = StoredModel(name="m", config={}, created_at=now, updated_at=now)
    writes = list[Query[Any]](
        (
            provider_configs.put_provider(provider, keep_key=False),
            provider_configs.put_model(model),
            provider_configs.choose_default("m"),
            provider_configs.delete_model("m"),
            provider_configs.delete_provider("p"),
        )
    )
    for write in writes:
        world.hints.clear()
        await world.store.write(write)
        assert world.hints == [Configured()]


async def test_a_repeated_write_does_no_harm(world: World) -> None:
    worker_id = fresh_id()
    for _ in range(2):
        assert await world.store.write(put(worker_id, "a", 7)) == worker_id
    assert await world.store.read(query(NAMED, "a", read=ids)) == [worker_id]


async def test_statements_of_one_write_see_each_other(world: World) -> None:
    worker_id = fresh_id()
    both = Query(
        ((PUT, (worker_id, "a", 0)), (NAMED, ("a",))), lambda results: (ids(results[0]), ids(results[1]))
    )
    assert await world.store.write(both) == ([worker_id], [worker_id])


async def test_if_a_later_statement_fails_nothing_is_kept(world: World) -> None:
    half = Query(
        ((PUT, (fresh_id(), "a", 0)), ("INSERT INTO workers (id, name) VALUES ($1, 'b')", (fresh_id(),))),
        len,
    )
    with pytest.raises(Bug):
        await world.store.write(half)
    assert await world.store.read(query(NAMED, "a", read=ids)) == []


async def test_if_reading_the_answer_raises_nothing_is_kept(world: World) -> None:
    def refuse(rows: Rows) -> None:
        raise InvalidInput("no")

    with pytest.raises(InvalidInput):
        await world.store.write(query(PUT, fresh_id(), "a", 0, read=refuse))
    assert await world.store.read(query(NAMED, "a", read=ids)) == []


async def test_a_failed_write_does_not_hurt_its_neighbours(world: World) -> None:
    bad = query("INSERT INTO workers (id, name) VALUES ($1, 'b')", fresh_id(), read=len)
    good = [fresh_id() for _ in range(10)]
    told = await asyncio.gather(
        *(world.store.write(put(worker_id, "a")) for worker_id in good[:5]),
        world.store.write(bad),
        *(world.store.write(put(worker_id, "a")) for worker_id in good[5:]),
        return_exceptions=True,
    )
    assert isinstance(told.pop(5), Bug)
    assert told == good
    assert await world.store.read(query(NAMED, "a", read=ids)) == sorted(good)


async def test_of_many_who_check_and_then_write_one_is_left(world: World) -> None:
    """Each looks whether another one is left: if they did not see each other, none would be."""
    everyone = [fresh_id() for _ in range(8)]
    for worker_id in everyone:
        await world.store.write(put(worker_id, "admin"))
    gone = await asyncio.gather(
        *(world.store.write(query(RENAME, worker_id, "admin", read=ids)) for worker_id in everyone)
    )
    assert sum(map(len, gone)) == len(everyone) - 1
    assert len(await world.store.read(query(NAMED, "admin", read=ids))) == 1
