"""The first start, one-time tokens, sessions."""

import asyncio
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.accounts.sign_in import NewSession
from holdfast.core.errors import CannotStart, DirectoryUnusable
from holdfast.store import tokens, users
from tests.accounts.house import House

ROOT = Path(__file__).parents[2]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# The first start


async def test_the_first_start_makes_an_admin_and_leaves_a_token(house: House) -> None:
    admin = await house.sign_in.prepare(house.data)
    assert (admin.name, admin.role) == ("admin", "admin")
    file = house.data / "admin.token"
    assert mode(file) == 0o600
    caller = await house.access.authenticate(file.read_text().strip())
    assert caller is not None
    assert caller.user == admin
    assert caller.may("admin")
    assert [path.name for path in house.data.iterdir()] == ["admin.token"]


async def test_a_later_start_keeps_what_works(house: House) -> None:
    first = await house.sign_in.prepare(house.data)
    text = (house.data / "admin.token").read_text()
    (house.data / "admin.token").chmod(0o644)
    house.access.forget()
    assert await house.sign_in.prepare(house.data) == first
    assert (house.data / "admin.token").read_text() == text
    assert mode(house.data / "admin.token") == 0o600
    assert len(await house.store.read(users.page())) == 1


@pytest.mark.parametrize("there", [b"", b"hf_nonsense", b"\xff\xff"])
async def test_a_file_that_is_no_use_is_replaced(house: House, there: bytes) -> None:
    (house.data / "admin.token").write_bytes(there)
    await house.sign_in.prepare(house.data)
    text = (house.data / "admin.token").read_text().strip()
    assert await house.access.authenticate(text) is not None


async def test_a_token_that_was_revoked_is_replaced(house: House) -> None:
    admin = await house.admin()
    await house.people.revoke_token(admin, admin.credential_id)
    again = await house.admin()
    assert again.user == admin.user
    assert again.credential_id != admin.credential_id


async def test_replicas_that_start_at_once_make_one_admin(house: House, tmp_path: Path) -> None:
    places = [tmp_path / f"data{n}" for n in range(4)]
    for place in places:
        place.mkdir()
    made = await asyncio.gather(*(house.sign_in.prepare(place) for place in places))
    assert len({admin.id for admin in made}) == 1
    for place in places:
        assert await house.access.authenticate((place / "admin.token").read_text().strip()) is not None


async def test_without_any_admin_it_does_not_start(house: House) -> None:
    admin = await house.sign_in.prepare(house.data)
    (house.data / "admin.token").unlink()
    from holdfast.store.query import query

    await house.store.write(query("UPDATE users SET role = 'member' WHERE id = $1", admin.id, read=len))
    with pytest.raises(CannotStart, match="no active admin"):
        await house.sign_in.prepare(house.data)


async def test_a_directory_that_cannot_be_written_is_said(house: House) -> None:
    (house.data / "file").touch()
    for place in ("nowhere", "file"):
        with pytest.raises(DirectoryUnusable, match=place):
            await house.sign_in.prepare(house.data / place)


# One-time tokens and sessions


async def test_a_one_time_token_works_once(house: House) -> None:
    admin = await house.sign_in.prepare(house.data)
    once = await house.sign_in.one_time(admin.id)
    session = await house.sign_in.exchange(once.reveal(), "Firefox\non\tLinux")
    assert isinstance(session, NewSession)
    assert (session.user, session.token.kind, session.token.name) == (admin, "session", "Firefox on Linux")
    assert await house.sign_in.exchange(once.reveal()) is None
    caller = await house.access.authenticate(session.secret.reveal())
    assert caller is not None
    assert (caller.kind, caller.user, caller.may("admin")) == ("session", admin, True)


async def test_of_many_at_once_one_gets_in(house: House) -> None:
    admin = await house.sign_in.prepare(house.data)
    once = await house.sign_in.one_time(admin.id)
    told = await asyncio.gather(*(house.sign_in.exchange(once.reveal()) for _ in range(20)))
    assert len([session for session in told if session is not None]) == 1


async def test_a_one_time_token_lasts_ten_minutes(house: House) -> None:
    admin = await house.sign_in.prepare(house.data)
    early, late = await house.sign_in.one_time(admin.id), await house.sign_in.one_time(admin.id)
    house.clock.advance(599)
    assert await house.sign_in.exchange(early.reveal()) is not None
    house.clock.advance(2)
    assert await house.sign_in.exchange(late.reveal()) is None


async def test_an_api_token_signs_in_with_what_it_may(house: House) -> None:
    anna = await house.person("anna")
    caller, secret = await house.token(anna, ("chats:read",))
    session = await house.sign_in.exchange(secret.reveal())
    assert session is not None
    signed_in = await house.access.authenticate(session.secret.reveal())
    assert signed_in is not None
    assert (signed_in.kind, signed_in.scopes, signed_in.may_approve) == ("session", {"chats:read"}, False)
    await house.people.revoke_token(anna, caller.credential_id)
    assert await house.access.authenticate(session.secret.reveal()) is None
    assert await house.access.still([signed_in]) == set()


@pytest.mark.parametrize("secret", ["", "hf_", "x" * 46, "hf_" + "0" * 43])
async def test_nonsense_does_not_sign_in(house: House, secret: str) -> None:
    assert await house.sign_in.exchange(secret) is None


async def test_a_session_is_no_way_to_another_session(house: House) -> None:
    admin = await house.sign_in.prepare(house.data)
    _, secret = await house.signed_in(admin)
    assert await house.sign_in.exchange(secret.reveal()) is None


async def test_signing_out_ends_the_session_and_nothing_else(house: House) -> None:
    admin = await house.sign_in.prepare(house.data)
    one, one_secret = await house.signed_in(admin)
    _, two_secret = await house.signed_in(admin)
    for _ in range(2):
        await house.sign_in.sign_out(one.credential_id)
    assert await house.access.authenticate(one_secret.reveal()) is None
    assert await house.access.authenticate(two_secret.reveal()) is not None
    token = await house.store.read(tokens.token(one.credential_id))
    assert token is not None
    assert token.revoked_at is not None


@pytest.mark.heavy
async def test_of_two_processes_one_gets_in(postgres_url: str, tmp_path: Path) -> None:
    from holdfast.store.postgres import open_postgres
    from tests.store.world import SetClock

    store = await open_postgres(postgres_url, publish=lambda _: None)
    try:
        house = House(store, SetClock(), tmp_path)
        admin = await house.sign_in.prepare(tmp_path)
        for _ in range(3):
            once = await house.sign_in.one_time(admin.id)
            told = await asyncio.to_thread(_race, postgres_url, once.reveal())
            assert sorted(told) == ["in", "out"]
    finally:
        await store.close()


def _race(url: str, secret: str) -> list[str]:
    """Two processes that are told at the same moment to use the same token."""
    command = [sys.executable, "-m", "tests.accounts.exchanging", url]
    both = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        for process in both:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in both:
            assert process.stdin is not None
            process.stdin.write(f"{secret}\n")
            process.stdin.flush()
        return [process.communicate(timeout=60)[0].strip() for process in both]
    finally:
        for process in both:
            process.kill()
            process.wait()
