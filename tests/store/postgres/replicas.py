"""Stores on one PostgreSQL by its own clock, as replicas have them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from holdfast.chats.commands import BeginAttempt, Create, Fence
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.ids import ChatId
from holdfast.store.interface import Applied
from holdfast.store.postgres import open_postgres
from holdfast.store.postgres.store import PostgresStore
from tests.store.world import fresh_id, text, user, view_of


def nowhere(_: object) -> None:
    pass


@asynccontextmanager
async def replica(url: str, **more: Any) -> AsyncGenerator[PostgresStore]:
    store = await open_postgres(url, publish=more.pop("publish", nowhere), **more)
    try:
        yield store
    finally:
        await store.close()


async def created(store: PostgresStore, content: str = "hello", **more: Any) -> View:
    command = Create(owner_id=user(), settings=Settings(), parts=text(content), **more)
    return applied(await store.transition(ChatId(fresh_id()), command))


async def owned(store: PostgresStore, count: int = 1) -> list[View]:
    """Chats of a new worker, each at its first attempt."""
    for _ in range(count):
        await created(store)
    worker = await store.register_worker("test", 3600)
    views = await store.acquire(worker, limit=count, agents_limit=0)
    assert len(views) == count
    return [
        applied(await store.transition(view.chat.id, BeginAttempt(), fence=fence_of(view), view=view))
        for view in views
    ]


def fence_of(view: View) -> Fence:
    return Fence(lease_number=view.chat.lease_number)


def applied(told: object) -> View:
    assert isinstance(told, Applied), told
    return view_of(told)
