"""Users: unique names, and always an admin."""

import asyncio

import pytest

from holdfast.core.accounts import Role, User
from holdfast.core.errors import NotFound, WrongState
from holdfast.core.ids import UserId
from holdfast.store import users
from tests.store.world import World, fresh_id, user


def person(world: World, name: str, role: Role = "member") -> User:
    return User(id=user(), name=name, role=role, suspended_at=None, created_at=world.clock.now())


async def test_a_user_is_read_back_as_written(world: World) -> None:
    anna = person(world, "anna", "admin")
    assert await world.store.write(users.create(anna)) == anna
    assert await world.store.read(users.user(anna.id)) == anna
    assert await world.store.read(users.named("anna")) == anna
    assert await world.store.read(users.named("Anna")) is None
    assert await world.store.read(users.user(UserId(fresh_id()))) is None


async def test_creating_again_does_no_harm_and_a_taken_name_is_refused(world: World) -> None:
    anna = person(world, "anna")
    for _ in range(2):
        assert await world.store.write(users.create(anna)) == anna
    with pytest.raises(WrongState, match="anna"):
        await world.store.write(users.create(person(world, "anna")))


async def test_pages_go_through_everybody_once(world: World) -> None:
    everybody = [await world.store.write(users.create(person(world, f"u{n}"))) for n in range(5)]
    everybody.sort(key=lambda each: each.id)
    first = await world.store.read(users.page(limit=3))
    rest = await world.store.read(users.page(after=first[-1].id, limit=3))
    assert [*first, *rest] == everybody


async def test_of_many_first_users_there_is_one(world: World) -> None:
    wanted = [person(world, f"admin{n}", "admin") for n in range(8)]
    made = await asyncio.gather(*(world.store.write(users.create_first(one)) for one in wanted))
    [only] = [one for one in made if one is not None]
    assert await world.store.read(users.page()) == (only,)
    assert await world.store.read(users.first_admin()) == only
    # Whoever does not know whether it was done may ask again.
    assert await world.store.write(users.create_first(only)) == only


async def test_what_is_not_named_stays(world: World) -> None:
    boss = await world.store.write(users.create(person(world, "boss", "admin")))
    anna = await world.store.write(users.create(person(world, "anna")))
    renamed = await world.store.write(users.change(anna.id, name="anne"))
    assert (renamed.name, renamed.role, renamed.suspended_at) == ("anne", "member", None)
    suspended = await world.store.write(users.change(anna.id, suspended=True))
    assert suspended.suspended_at == world.clock.now()
    world.clock.advance(60)
    again = await world.store.write(users.change(anna.id, suspended=True, role="admin"))
    assert (again.suspended_at, again.role) == (suspended.suspended_at, "admin")
    assert (await world.store.write(users.change(anna.id, suspended=False))).suspended_at is None
    with pytest.raises(WrongState, match="boss"):
        await world.store.write(users.change(anna.id, name="boss"))
    assert await world.store.read(users.named("boss")) == boss
    with pytest.raises(NotFound):
        await world.store.write(users.change(UserId(fresh_id()), name="x"))


@pytest.mark.parametrize("how", ["demoted", "suspended"])
async def test_the_last_active_admin_stays(world: World, how: str) -> None:
    admins = [await world.store.write(users.create(person(world, f"a{n}", "admin"))) for n in range(4)]

    async def take(admin: User) -> bool:
        change = (
            users.change(admin.id, role="member")
            if how == "demoted"
            else users.change(admin.id, suspended=True)
        )
        try:
            await world.store.write(change)
        except WrongState:
            return False
        return True

    assert sorted(await asyncio.gather(*map(take, admins))) == [False, True, True, True]
    left = await world.store.read(users.first_admin())
    assert left in admins
