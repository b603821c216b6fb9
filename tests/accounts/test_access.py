"""Who is calling: looked up quickly, and forgotten quickly."""

from datetime import timedelta
from typing import Any

import pytest

from holdfast.accounts.access import Access
from holdfast.accounts.tokens import hash_of, is_secret, new_secret
from holdfast.core.accounts import SCOPES
from holdfast.core.secret import Secret
from holdfast.store import tokens, users
from tests.accounts.house import House

# Secrets


def test_a_secret_is_long_and_new_and_letters() -> None:
    made = {new_secret().reveal() for _ in range(1000)}
    assert len(made) == 1000
    assert all(is_secret(text) and len(text) == 46 for text in made)
    # Every place takes every digit: no bytes are lost on the way.
    assert all(len({text[place] for text in made}) > 30 for place in range(3, 45))


@pytest.mark.parametrize(
    "text",
    ["", "hf_", "hf_" + "x" * 42, "hf_" + "x" * 44, "hf_" + "é" * 43, "hf_" + "x" * 43 + "\n", "x" * 46],
)
def test_what_has_not_the_form_is_none(text: str) -> None:
    assert not is_secret(text)


def test_a_secret_does_not_show_itself() -> None:
    from rich.pretty import pretty_repr

    secret = new_secret()
    hidden = secret.reveal()
    for shown in (repr(secret), str(secret), f"{secret}", f"{[secret]}", pretty_repr(secret)):
        assert hidden not in shown
    assert secret == Secret(hidden)
    assert hash_of(hidden) not in hidden.encode()


# Credentials


async def test_a_token_is_its_users_with_its_scopes(house: House) -> None:
    admin = await house.admin()
    assert (admin.user.name, admin.user.role, admin.kind) == ("admin", "admin", "token")
    assert admin.scopes == frozenset(SCOPES)
    anna = await house.person("anna")
    assert (anna.user.name, anna.kind, anna.scopes) == ("anna", "session", {"chats:read", "chats:write"})
    assert anna.may_approve
    reader, _ = await house.token(anna, ("chats:read",))
    assert (reader.kind, reader.scopes, reader.may_approve) == ("token", {"chats:read"}, False)
    assert reader.may("chats:read")
    assert not reader.may("chats:write")


@pytest.mark.parametrize("secret", ["", "hf_nothing", "Bearer x", "\udc80", "x" * 100_000])
async def test_nonsense_is_nobodys(house: House, secret: str) -> None:
    assert await house.access.authenticate(secret) is None


async def test_an_unknown_secret_is_nobodys(house: House) -> None:
    assert await house.access.authenticate(new_secret().reveal()) is None


async def test_a_one_time_token_is_no_credential(house: House) -> None:
    admin = await house.admin()
    once = await house.sign_in.one_time(admin.user.id)
    assert await house.access.authenticate(once.reveal()) is None


async def test_what_is_revoked_elsewhere_is_worth_nothing_after_two_seconds(house: House) -> None:
    anna = await house.person("anna")
    caller, secret = await house.token(anna)
    # As another replica does it: this one is not told.
    await house.store.write(tokens.revoke(caller.credential_id, anna.user.id))
    house.clock.advance(1.9)
    assert await house.access.authenticate(secret.reveal()) == caller
    house.clock.advance(0.2)
    assert await house.access.authenticate(secret.reveal()) is None


async def test_what_is_revoked_here_is_worth_nothing_at_once(house: House) -> None:
    anna = await house.person("anna")
    caller, secret = await house.token(anna)
    other, other_secret = await house.token(anna)
    await house.people.revoke_token(anna, caller.credential_id)
    assert await house.access.authenticate(secret.reveal()) is None
    assert await house.access.authenticate(other_secret.reveal()) == other


async def test_forgetting_one_keeps_the_others(house: House) -> None:
    anna = await house.person("anna")
    caller, secret = await house.token(anna)
    other, other_secret = await house.token(anna)
    for each in (caller, other):
        await house.store.write(tokens.revoke(each.credential_id, anna.user.id))
    house.access.forget((caller.credential_id,))
    assert await house.access.authenticate(secret.reveal()) is None
    assert await house.access.authenticate(other_secret.reveal()) == other


async def test_a_suspended_user_is_nobody_and_comes_back(house: House) -> None:
    admin = await house.admin()
    anna = await house.person("anna")
    _, secret = await house.token(anna)
    await house.people.change_user(admin, anna.user.id, suspended=True)
    assert await house.access.authenticate(secret.reveal()) is None
    assert await house.access.still([anna]) == set()
    await house.people.change_user(admin, anna.user.id, suspended=False)
    assert await house.access.authenticate(secret.reveal()) is not None


async def test_a_demoted_admin_has_no_admin_scope(house: House) -> None:
    admin = await house.admin()
    anna = await house.person("anna", "admin")
    caller, secret = await house.token(anna, ("chats:read", "admin"))
    assert caller.may("admin")
    await house.people.change_user(admin, anna.user.id, role="member")
    now = await house.access.authenticate(secret.reveal())
    assert now is not None
    assert now.scopes == {"chats:read"}


async def test_a_token_ends_when_it_was_said_to(house: House) -> None:
    anna = await house.person("anna")
    _, secret = await house.people.create_token(
        anna, "short", ("chats:read",), expires_at=house.clock.now() + timedelta(minutes=5)
    )
    assert await house.access.authenticate(secret.reveal()) is not None
    house.clock.advance(301)
    assert await house.access.authenticate(secret.reveal()) is None


async def test_a_session_lasts_while_it_is_used(house: House) -> None:
    admin = await house.admin()
    _, secret = await house.signed_in(admin.user)
    _, unused = await house.signed_in(admin.user)
    for _ in range(4):
        house.clock.advance(20 * 24 * 3600)
        assert await house.access.authenticate(secret.reveal()) is not None
    assert await house.access.authenticate(unused.reveal()) is None


async def test_use_is_noted(house: House) -> None:
    anna = await house.person("anna")
    caller, secret = await house.token(anna)
    for _ in range(3):
        house.clock.advance(70)
        await house.access.authenticate(secret.reveal())
        token = await house.store.read(tokens.token(caller.credential_id))
        assert token is not None
        assert token.last_used_at == house.clock.now()


# Those who watch


class Counting:
    """A store that counts what it is asked."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.reads = 0

    async def read(self, *queries: Any) -> Any:
        self.reads += 1
        return await self._store.read(*queries)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def test_who_is_still_valid_is_one_question_without_memory(house: House) -> None:
    admin = await house.admin()
    anna, ben, carl = [await house.person(name) for name in ("anna", "ben", "carl")]
    dora = await house.person("dora", "admin")
    token, _ = await house.token(anna)
    everybody = [admin, anna, ben, carl, dora, token, anna]
    counting: Any = Counting(house.store)
    access = Access(counting, house.clock)
    assert await access.still(everybody) == {caller.credential_id for caller in everybody}
    # As another replica does it.
    await house.store.write(tokens.revoke(token.credential_id, anna.user.id))
    await house.store.write(users.change(ben.user.id, suspended=True))
    await house.store.write(users.change(dora.user.id, role="member"))
    await house.store.write(users.change(carl.user.id, role="admin"))
    left = await access.still(everybody)
    assert left == {admin.credential_id, anna.credential_id, carl.credential_id}
    assert counting.reads == 2
    assert await access.still([]) == set()
    assert counting.reads == 2


async def test_asking_often_asks_the_database_once(house: House) -> None:
    await house.admin()
    secret = (house.data / "admin.token").read_text().strip()
    counting: Any = Counting(house.store)
    access = Access(counting, house.clock)
    for _ in range(100):
        assert await access.authenticate(secret) is not None
    assert counting.reads == 1
