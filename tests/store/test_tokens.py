"""Tokens: found by their hash while they are valid, spent once, judged by the database's clock."""

import asyncio
import hashlib

import pytest

from holdfast.core.accounts import Token, User
from holdfast.core.clock import to_micros
from holdfast.core.errors import NotFound
from holdfast.core.ids import TokenId
from holdfast.store import tokens, users
from holdfast.store.query import query
from tests.store.test_users import person
from tests.store.world import World, fresh_id, user

MINUTE = 60 * 1_000_000


def hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


async def somebody(world: World, name: str = "anna") -> User:
    return await world.store.write(users.create(person(world, name, "admin")))


async def make(world: World, owner: User, secret: str, **more: object) -> Token:
    arguments = {"name": secret, "kind": "api", "scopes": ("chats:read", "admin"), **more}
    return await world.store.write(
        tokens.create(TokenId(fresh_id()), owner.id, hashed(secret), **arguments)  # pyright: ignore[reportArgumentType]
    )


async def is_valid(world: World, secret: str) -> bool:
    return await world.store.read(tokens.credential(hashed(secret))) is not None


async def test_a_token_is_read_back_with_its_user(world: World) -> None:
    anna = await somebody(world)
    token = await make(world, anna, "s")
    assert (token.scopes, token.expires_at, token.created_at) == (
        ("chats:read", "admin"),
        None,
        world.clock.now(),
    )
    found = await world.store.read(tokens.credential(hashed("s")))
    assert found is not None
    assert (found.token, found.user, found.untouched) == (token, anna, True)
    assert await world.store.read(tokens.token(token.id)) == token
    assert await world.store.read(tokens.of_user(anna.id)) == (token,)
    assert not await is_valid(world, "other")


async def test_expired_revoked_and_suspended_ones_are_nobodys(world: World) -> None:
    anna, boss = await somebody(world), await somebody(world, "boss")
    await make(world, anna, "lasting")
    await make(world, anna, "short", lasts_micros=MINUTE)
    await make(world, anna, "until", expires_at_micros=to_micros(world.clock.now()) + 2 * MINUTE)
    revoked = await make(world, anna, "revoked")
    assert [await is_valid(world, s) for s in ("lasting", "short", "until", "revoked")] == [True] * 4
    await world.store.write(tokens.revoke(revoked.id, anna.id))
    world.clock.advance(61)
    assert [await is_valid(world, s) for s in ("lasting", "short", "until", "revoked")] == [
        True,
        False,
        True,
        False,
    ]
    world.clock.advance(60)
    assert not await is_valid(world, "until")
    await world.store.write(users.change(anna.id, suspended=True))
    assert not await is_valid(world, "lasting")
    await world.store.write(users.change(anna.id, suspended=False))
    assert await is_valid(world, "lasting")
    assert boss.role == "admin"


async def test_only_ones_own_tokens_are_revoked_unless_anybodys(world: World) -> None:
    anna, ben = await somebody(world), await somebody(world, "ben")
    token = await make(world, anna, "s")
    for by, anybodys in ((ben.id, False), (user(), False)):
        with pytest.raises(NotFound):
            await world.store.write(tokens.revoke(token.id, by, anybodys=anybodys))
    assert await is_valid(world, "s")
    first = await world.store.write(tokens.revoke(token.id, ben.id, anybodys=True))
    world.clock.advance(5)
    assert await world.store.write(tokens.revoke(token.id, anna.id)) == first
    assert first.revoked_at is not None


async def test_use_is_noted_at_intervals_and_prolongs_a_session(world: World) -> None:
    anna = await somebody(world)
    token = await make(world, anna, "s", kind="session", lasts_micros=MINUTE)
    await world.store.write(tokens.touch(token.id))
    found = await world.store.read(tokens.credential(hashed("s")))
    assert found is not None
    assert not found.untouched
    assert found.token.expires_at is not None
    assert (found.token.expires_at - world.clock.now()).days == 30
    world.clock.advance(61)
    found = await world.store.read(tokens.credential(hashed("s")))
    assert found is not None
    assert found.untouched


async def test_which_of_many_are_valid_is_one_question(world: World) -> None:
    anna = await somebody(world)
    made = [await make(world, anna, f"s{n}") for n in range(5)]
    for token in made[::2]:
        await world.store.write(tokens.revoke(token.id, anna.id))
    asked = tokens.valid([token.id for token in made] + [TokenId(fresh_id()) for _ in range(2000)])
    found = await world.store.read(asked)
    assert {credential.token.id for credential in found} == {made[1].id, made[3].id}
    assert len(found) == 2


async def test_a_one_time_token_is_spent_by_the_first(world: World) -> None:
    anna = await somebody(world)
    await make(world, anna, "once", kind="one_time", lasts_micros=10 * MINUTE)
    assert not await is_valid(world, "once")
    tries = [(TokenId(fresh_id()), hashed(f"session{n}")) for n in range(8)]
    told = await asyncio.gather(
        *(world.store.write(tokens.exchange(hashed("once"), *each, "browser")) for each in tries)
    )
    [won] = [found for found in told if found is not None]
    assert (won.token.kind, won.token.name, won.user) == ("session", "browser", anna)
    assert [await is_valid(world, f"session{n}") for n in range(8)].count(True) == 1
    # The winner, who never heard of it, may ask again and gets the same.
    place = [session_id for session_id, _ in tries].index(won.token.id)
    again = await world.store.write(tokens.exchange(hashed("once"), *tries[place], "browser"))
    assert again == won


async def test_a_one_time_token_expires_and_an_api_token_does_not_wear_out(world: World) -> None:
    anna = await somebody(world)
    await make(world, anna, "once", kind="one_time", lasts_micros=10 * MINUTE)
    await make(world, anna, "api")
    await make(world, anna, "cookie", kind="session", lasts_micros=60 * MINUTE)

    async def exchange(secret: str) -> bool:
        query = tokens.exchange(hashed(secret), TokenId(fresh_id()), hashed(fresh_id()), "browser")
        return await world.store.write(query) is not None

    assert [await exchange(secret) for secret in ("api", "api", "cookie", "nothing")] == [
        True,
        True,
        False,
        False,
    ]
    world.clock.advance(601)
    assert not await exchange("once")


async def test_a_session_may_what_it_was_given_for_and_ends_with_it(world: World) -> None:
    anna = await somebody(world)
    api = await make(world, anna, "api", scopes=("chats:read",))
    await make(world, anna, "hour", lasts_micros=60 * MINUTE)
    await make(world, anna, "once", kind="one_time", lasts_micros=MINUTE)
    for secret in ("api", "hour", "once"):
        asked = tokens.exchange(hashed(secret), TokenId(fresh_id()), hashed(f"from {secret}"), "browser")
        assert await world.store.write(asked) is not None
    found = await world.store.read(tokens.credential(hashed("from api")))
    assert found is not None
    assert found.token.scopes == ("chats:read",)
    await world.store.write(tokens.revoke(api.id, anna.id))
    assert [await is_valid(world, f"from {s}") for s in ("api", "hour", "once")] == [False, True, True]
    world.clock.advance(3601)
    assert [await is_valid(world, f"from {s}") for s in ("api", "hour", "once")] == [False, False, True]


async def test_a_suspended_user_does_not_get_in(world: World) -> None:
    anna, _ = await somebody(world), await somebody(world, "boss")
    await make(world, anna, "once", kind="one_time", lasts_micros=10 * MINUTE)
    await world.store.write(users.change(anna.id, suspended=True))
    asked = tokens.exchange(hashed("once"), TokenId(fresh_id()), hashed("session"), "browser")
    assert await world.store.write(asked) is None


async def test_what_expired_long_ago_is_forgotten(world: World) -> None:
    anna = await somebody(world)
    await make(world, anna, "once", kind="one_time", lasts_micros=MINUTE)
    await make(world, anna, "api", expires_at_micros=to_micros(world.clock.now()))
    world.clock.advance(3600)
    await world.store.discard_expired()
    count = query("SELECT count(*) FROM tokens", read=lambda rows: rows[0][0])
    assert await world.store.read(count) == 2
    world.clock.advance(24 * 3600)
    await world.store.discard_expired()
    assert await world.store.read(count) == 1
