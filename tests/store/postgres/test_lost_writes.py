"""`Store.write` when the answer to its COMMIT is lost: it is done again, and has happened once."""

from collections.abc import AsyncIterator

import pytest

from holdfast.core.accounts import User
from holdfast.core.clock import SystemClock
from holdfast.core.ids import TokenId
from holdfast.store import tokens, users
from tests.store.postgres.replicas import replica
from tests.store.postgres.test_trouble import break_at
from tests.store.world import fresh_id, user
from tests.tcp_proxy import TcpProxy

# Each needs a database made for it.
pytestmark = pytest.mark.heavy


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[TcpProxy]:
    async with TcpProxy(postgres_url) as proxy:
        yield proxy


@pytest.mark.parametrize("committed", [True, False])
async def test_a_user_and_a_session_are_made_once(proxy: TcpProxy, committed: bool) -> None:
    anna = User(id=user(), name="anna", role="admin", suspended_at=None, created_at=SystemClock().now())
    async with replica(proxy.url) as store:
        broken = break_at(proxy, b"COMMIT", committed=committed)
        assert await store.write(users.create(anna)) == anna
        assert broken.is_set()
        assert await store.read(users.page()) == (anna,)

        once = tokens.create(
            TokenId(fresh_id()), anna.id, b"once", name="o", kind="one_time", lasts_micros=10**9
        )
        await store.write(once)
        session_id = TokenId(fresh_id())
        broken = break_at(proxy, b"COMMIT", committed=committed)
        told = await store.write(tokens.exchange(b"once", session_id, b"session", "browser"))
        assert broken.is_set()
        assert told is not None
        assert told.token.id == session_id
        again = tokens.exchange(b"once", TokenId(fresh_id()), b"other", "browser")
        assert await store.write(again) is None
