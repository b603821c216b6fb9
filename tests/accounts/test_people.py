"""What admins do with users, what everybody does with their tokens, and what the audit log says about it."""

from datetime import timedelta

import pytest

from holdfast.accounts.audit_entries import Audit
from holdfast.accounts.user_admin import checked_name
from holdfast.core.accounts import Scope
from holdfast.core.errors import Forbidden, InvalidInput, NotFound, WrongState
from holdfast.core.ids import TokenId
from holdfast.store import users
from tests.accounts.house import House
from tests.store.world import fresh_id, user


@pytest.mark.parametrize("name, kept", [("Anna", "anna"), (" a.b+c@d-e_f ", "a.b+c@d-e_f"), ("7", "7")])
def test_names(name: str, kept: str) -> None:
    assert checked_name(name) == kept


@pytest.mark.parametrize(
    "name",
    ["", " ", "=cmd", "+a", "@a", "-a", "a b", "a\nb", "a\x1b[0m", "é", "а", "x" * 65, "a\0", "a\udc80"],
)
def test_names_that_would_be_taken_for_something_else(name: str) -> None:
    with pytest.raises(InvalidInput):
        checked_name(name)


async def test_an_admin_makes_members(house: House) -> None:
    admin = await house.admin()
    anna = await house.people.create_user(admin, "Anna")
    assert (anna.name, anna.role, anna.suspended_at) == ("anna", "member", None)
    with pytest.raises(WrongState, match="anna"):
        await house.people.create_user(admin, "ANNA")
    secret = await house.people.invite_user(admin, anna.id)
    session = await house.sign_in.exchange(secret.reveal())
    assert session is not None
    assert session.user == anna


async def test_nobody_else_does(house: House) -> None:
    admin = await house.admin()
    anna = await house.person("anna")
    narrow, _ = await house.token(admin, ("chats:read", "chats:write"))
    for by in (anna, narrow):
        for act in (
            house.people.create_user(by, "ben"),
            house.people.change_user(by, anna.user.id, role="admin"),
            house.people.change_user(by, admin.user.id, suspended=True),
            house.people.invite_user(by, admin.user.id),
        ):
            with pytest.raises(Forbidden):
                await act
    assert len(await house.store.read(users.page())) == 2


async def test_the_last_admin_cannot_go(house: House) -> None:
    admin = await house.admin()
    for change in (
        house.people.change_user(admin, admin.user.id, role="member"),
        house.people.change_user(admin, admin.user.id, suspended=True),
    ):
        with pytest.raises(WrongState, match="last active admin"):
            await change
    await house.person("anna", "admin")
    await house.people.change_user(admin, admin.user.id, role="member")
    # The token that it was done with is a member's now.
    again = await house.access.authenticate((house.data / "admin.token").read_text().strip())
    assert again is not None
    with pytest.raises(Forbidden):
        await house.people.create_user(again, "ben")


async def test_somebody_who_is_not_there(house: House) -> None:
    admin = await house.admin()
    for act in (
        house.people.change_user(admin, user(), name="x"),
        house.people.invite_user(admin, user()),
        house.people.revoke_token(admin, TokenId(fresh_id())),
    ):
        with pytest.raises(NotFound):
            await act


@pytest.mark.parametrize(
    "scopes", [(), ("admin",), ("chats:read", "admin"), ("nonsense",), ("chats:read", "nonsense")]
)
async def test_a_token_never_has_more_than_its_maker(house: House, scopes: tuple[Scope, ...]) -> None:
    anna = await house.person("anna")
    with pytest.raises(InvalidInput):
        await house.people.create_token(anna, "x", scopes)


async def test_a_narrow_token_makes_no_tokens(house: House) -> None:
    anna = await house.person("anna")
    caller, _ = await house.token(anna)
    with pytest.raises(Forbidden):
        await house.people.create_token(caller, "x", ("chats:read",))


async def test_tokens_that_make_no_sense(house: House) -> None:
    admin = await house.admin()
    past = house.clock.now() - timedelta(seconds=1)
    with pytest.raises(InvalidInput, match="past"):
        await house.people.create_token(admin, "x", ("chats:read",), expires_at=past)
    with pytest.raises(InvalidInput, match="name"):
        await house.people.create_token(admin, " \n ", ("chats:read",))
    token, _ = await house.people.create_token(admin, "a\nb\0" + "c" * 200, ("chats:read", "chats:read"))
    assert token.name.startswith("a b\ufffdc")
    assert len(token.name) == 100
    assert token.scopes == ("chats:read",)


async def test_only_ones_own_tokens_are_revoked_except_by_admins(house: House) -> None:
    admin = await house.admin()
    anna, ben = await house.person("anna"), await house.person("ben")
    caller, secret = await house.token(anna)
    with pytest.raises(NotFound):
        await house.people.revoke_token(ben, caller.credential_id)
    assert await house.access.authenticate(secret.reveal()) is not None
    await house.people.revoke_token(admin, caller.credential_id)
    assert await house.access.authenticate(secret.reveal()) is None


# What is written down


async def test_every_act_is_in_the_audit_and_no_secret_is(house: House) -> None:
    admin = await house.admin()
    anna = await house.people.create_user(admin, "anna")
    await house.people.change_user(admin, anna.id, role="admin")
    once = await house.people.invite_user(admin, anna.id)
    token, secret = await house.people.create_token(admin, "program", ("chats:read",))
    await house.people.revoke_token(admin, token.id)
    entries = await house.entries()
    assert {action: entry.target for action, entry in entries.items()} == {
        "user.create": f"user:{anna.id}",
        "user.change": f"user:{anna.id}",
        "user.invite": f"user:{anna.id}",
        "token.create": f"token:{token.id}",
        "token.revoke": f"token:{token.id}",
    }
    assert {entry.user_id for entry in entries.values()} == {admin.user.id}
    assert {entry.outcome for entry in entries.values()} == {"done"}
    assert entries["user.change"].detail == {"role": "admin"}
    for hidden in (once, secret):
        assert hidden.reveal() not in repr(entries)


async def test_what_was_refused_is_not_said_to_be_done(house: House) -> None:
    admin = await house.admin()
    with pytest.raises(WrongState):
        await house.people.change_user(admin, admin.user.id, role="member")
    assert await house.entries() == {}


async def test_what_was_denied_is_in_the_audit(house: House) -> None:
    anna = await house.person("anna")
    record = Audit(house.store, house.clock, house.ids)
    await record.denied(anna, "users.list", why="x" * 1000, nothing=None)
    await record.done(None, "server.start", "server")
    entries = await house.entries()
    denied, started = entries["users.list"], entries["server.start"]
    assert (denied.user_id, denied.outcome) == (anna.user.id, "denied")
    assert denied.detail == {"why": "x" * 199 + "…"}
    assert (started.user_id, started.outcome, started.target) == (None, "done", "server")
