"""Named agents, stored providers and models, preferences, audit: read back as written on both engines."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.core.accounts import AuditEntry, NamedAgent, StoredModel, StoredProvider, User
from holdfast.core.calls import UserRule
from holdfast.core.errors import InvalidInput, NotFound, WrongState
from holdfast.core.ids import AuditId, NamedAgentId, RuleId
from holdfast.core.shapes import Json
from holdfast.store import audit, named_agents, preferences, provider_configs, user_rules, users
from holdfast.store.provider_configs import Put
from holdfast.store.query import Query, joined
from tests.store.test_users import person
from tests.store.world import World, fresh_id


async def somebody(world: World, name: str) -> User:
    return await world.store.write(users.create(person(world, name)))


def agent(world: World, owner: User, name: str, **more: object) -> NamedAgent:
    now = world.clock.now()
    plain = NamedAgent(
        id=NamedAgentId(fresh_id()),
        owner_id=owner.id,
        name=name,
        description="Reads",
        instructions="Be brief.\nAlways “so”.",
        model=None,
        effort=None,
        tools=None,
        published=False,
        created_at=now,
        updated_at=now,
    )
    return replace(plain, **more)


# Named agents


def changed(before: NamedAgent, **changes: Any) -> Query[NamedAgent]:
    later = before.updated_at + timedelta(seconds=1)
    return named_agents.change(before.id, before.owner_id, changes, later)


async def test_an_agent_is_found_by_who_may_use_it(world: World) -> None:
    anna, ben = await somebody(world, "anna"), await somebody(world, "ben")
    hers = agent(world, anna, "reviewer", tools=("read_file", "grep"), model="big", effort="high")
    assert await world.store.write(named_agents.create(hers)) == hers
    assert await world.store.read(named_agents.agent(hers.id, anna.id)) == hers
    assert await world.store.read(named_agents.agent(hers.id, ben.id)) is None
    assert await world.store.read(named_agents.named("reviewer", ben.id)) is None
    published = await world.store.write(changed(hers, published=True))
    assert published.published is True
    assert await world.store.read(named_agents.agent(hers.id, ben.id)) == published
    assert await world.store.read(named_agents.named("reviewer", ben.id)) == published
    # One's own comes before another's of the same name.
    his = await world.store.write(named_agents.create(agent(world, ben, "reviewer")))
    assert await world.store.read(named_agents.named("reviewer", ben.id)) == his
    assert await world.store.read(named_agents.named("reviewer", anna.id)) == published
    assert await world.store.read(named_agents.page(ben.id)) == tuple(
        sorted((published, his), key=lambda each: each.id)
    )
    assert await world.store.read(named_agents.page(anna.id)) == (published,)


async def test_only_its_owner_changes_an_agent(world: World) -> None:
    anna, ben = await somebody(world, "anna"), await somebody(world, "ben")
    hers = await world.store.write(named_agents.create(agent(world, anna, "a", published=True)))
    with pytest.raises(NotFound):
        await world.store.write(changed(replace(hers, owner_id=ben.id), name="mine"))
    await world.store.write(named_agents.delete(hers.id, ben.id))
    assert await world.store.read(named_agents.agent(hers.id, anna.id)) == hers
    await world.store.write(named_agents.delete(hers.id, anna.id))
    assert await world.store.read(named_agents.agent(hers.id, anna.id)) is None


async def test_an_owner_has_one_agent_of_a_name(world: World) -> None:
    anna = await somebody(world, "anna")
    first = await world.store.write(named_agents.create(agent(world, anna, "a")))
    second = await world.store.write(named_agents.create(agent(world, anna, "b")))
    with pytest.raises(WrongState, match="named a"):
        await world.store.write(named_agents.create(agent(world, anna, "a")))
    with pytest.raises(WrongState, match="named a"):
        await world.store.write(changed(second, name="a"))
    # What stays is nobody else's, and what another chose meanwhile stays too.
    await world.store.write(changed(second, description="one"))
    both = await world.store.write(changed(second, tools=("grep",)))
    assert (both.name, both.description, both.tools) == ("b", "one", ("grep",))
    assert both.updated_at > second.updated_at
    assert await world.store.read(named_agents.page(anna.id)) == tuple(
        sorted((first, both), key=lambda each: each.id)
    )


async def test_what_no_database_takes_is_replaced(world: World) -> None:
    anna = await somebody(world, "anna")
    stored = await world.store.write(
        named_agents.create(agent(world, anna, "a", instructions="x\0y", description="\ud800"))
    )
    assert (stored.instructions, stored.description) == ("x\ufffdy", "\ufffd")


# Providers and models


def provider(world: World, name: str, key: bytes | None, **config: object) -> StoredProvider:
    now = world.clock.now()
    return StoredProvider(name=name, config=config, sealed_key=key, created_at=now, updated_at=now)


async def test_a_provider_keeps_its_key_only_if_asked_to(world: World) -> None:
    first = provider(world, "p", b"\0\xff", kind="openai")
    assert await world.store.write(provider_configs.put_provider(first, keep_key=False)) == Put(None, first)
    world.clock.advance(5)
    kept = provider(world, "p", None, kind="openai", api="responses")
    put = await world.store.write(provider_configs.put_provider(kept, keep_key=True))
    assert (put.before, put.after.sealed_key, put.after.config) == (first, first.sealed_key, kept.config)
    assert (put.after.created_at, put.after.updated_at) == (first.created_at, kept.updated_at)
    dropped = await world.store.write(provider_configs.put_provider(kept, keep_key=False))
    assert dropped.after.sealed_key is None
    assert await world.store.read(provider_configs.providers()) == (dropped.after,)


async def test_who_judges_by_what_was_there_undoes_the_write_by_raising(world: World) -> None:
    first = provider(world, "p", b"key", kind="openai")
    await world.store.write(provider_configs.put_provider(first, keep_key=False))

    def refuse(put: Put) -> None:
        raise InvalidInput("another address")

    other = provider(world, "p", None, kind="other")
    with pytest.raises(InvalidInput):
        await world.store.write(joined(provider_configs.put_provider(other, keep_key=True), read=refuse))
    assert await world.store.read(provider_configs.provider("p")) == first


async def test_models_and_deletion(world: World) -> None:
    now = world.clock.now()
    model = StoredModel(name="m", config={"provider": "p", "model": "x"}, created_at=now, updated_at=now)
    assert await world.store.write(provider_configs.put_model(model)) == model
    assert await world.store.read(provider_configs.models()) == (model,)
    await world.store.write(provider_configs.delete_model("m"))
    assert await world.store.read(provider_configs.model("m")) is None
    for gone in (provider_configs.delete_model("m"), provider_configs.delete_provider("p")):
        with pytest.raises(NotFound):
            await world.store.write(gone)


# Preferences


async def test_preferences_are_each_owners(world: World) -> None:
    anna, ben = await somebody(world, "anna"), await somebody(world, "ben")
    chosen = await world.store.write(
        preferences.choose(anna.id, {"theme": "dark", "nested": {"a": [1, None]}})
    )
    assert chosen == {"theme": "dark", "nested": {"a": [1, None]}}
    await world.store.write(preferences.choose(None, {"theme": "light"}))
    assert await world.store.write(preferences.choose(anna.id, {"theme": None})) == {
        "nested": {"a": [1, None]}
    }
    assert await world.store.read(preferences.preferences(ben.id)) == {}
    assert await world.store.read(preferences.preferences(None)) == {"theme": "light"}


async def test_many_preferences_are_one_write(world: World) -> None:
    anna = await somebody(world, "anna")
    many: dict[str, Json] = {f"key{n}": n for n in range(200)}
    assert await world.store.write(preferences.choose(anna.id, many)) == many
    half: dict[str, Json] = {key: None if n % 2 else "x" for n, key in enumerate(many)}
    choose = preferences.choose(anna.id, half)
    assert len(choose.statements) == 3, "what stays, what goes, what there is then"
    assert await world.store.write(choose) == {key: value for key, value in half.items() if value}
    assert await world.store.write(preferences.choose(anna.id, {})) != {}


# Audit


def entry(world: World, action: str) -> AuditEntry:
    return AuditEntry(
        id=AuditId(fresh_id()),
        at=world.clock.now(),
        user_id=world.owner,
        action=action,
        target="user:x",
        outcome="done",
        detail={"role": "admin"},
    )


async def test_the_newest_entries_come_first(world: World) -> None:
    entries = [entry(world, f"act{n}") for n in range(5)]
    for each in entries:
        await world.store.write(audit.add(each))
        await world.store.write(audit.add(each))
    entries.sort(key=lambda each: each.id, reverse=True)
    first = await world.store.read(audit.page(limit=3))
    rest = await world.store.read(audit.page(before=first[-1].id))
    assert [*first, *rest] == entries


async def test_an_act_that_is_refused_leaves_no_entry(world: World) -> None:
    anna = await somebody(world, "anna")
    told = await world.store.write(
        audit.audited(users.create(person(world, "ben")), entry(world, "user.create"))
    )
    assert told.name == "ben"
    with pytest.raises(WrongState):
        await world.store.write(
            audit.audited(users.create(person(world, anna.name)), entry(world, "user.create"))
        )
    assert len(await world.store.read(audit.page())) == 1


# Rules of users on tools


async def test_a_users_rule_is_there_once_and_is_theirs(world: World) -> None:
    anna, ben = await somebody(world, "anna"), await somebody(world, "ben")
    rule = UserRule(
        id=RuleId(fresh_id()),
        user_id=anna.id,
        tool="request_access",
        workspace_id=None,
        host=None,
        path="/srv/notes",
        allowed=True,
        created_at=world.clock.now(),
    )
    await world.store.write(user_rules.add(rule))
    await world.store.write(user_rules.add(replace(rule, id=RuleId(fresh_id()), allowed=False)))
    assert await world.store.read(user_rules.page(anna.id)) == (replace(rule, allowed=False),)
    assert await world.store.read(user_rules.page(ben.id)) == ()
    await world.store.write(user_rules.delete(rule.id, ben.id))
    assert await world.store.read(user_rules.rule(rule.id, anna.id)) is not None
    await world.store.write(user_rules.delete(rule.id, anna.id))
    assert await world.store.read(user_rules.rule(rule.id, anna.id)) is None
