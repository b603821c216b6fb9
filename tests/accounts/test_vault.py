"""Keys at rest: opened only by the same secret key, for the same provider at the same address."""

import base64
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.accounts.private_files import create_private, read_private, replace_private
from holdfast.accounts.stored_providers import Stored, Written
from holdfast.accounts.vault import Vault
from holdfast.core.errors import (
    BadConfig,
    BadSecretKey,
    DirectoryUnusable,
    Forbidden,
    InvalidInput,
    NotFound,
    WrongState,
)
from holdfast.core.secret import Secret
from holdfast.core.shapes import encode
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.store import provider_configs
from holdfast.store.directory import secure
from holdfast.store.query import query
from tests.accounts.house import House

CANARY = "sk-canary-7d1f0e52"
PLACE = {"name": "p", "base_url": "https://h/v1"}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Files


def test_the_data_directory_is_closed_to_others(tmp_path: Path) -> None:
    new, empty, ours = tmp_path / "a" / "new", tmp_path / "empty", tmp_path / "ours"
    for path in (empty, ours):
        path.mkdir()
        path.chmod(0o777)
    (ours / "secret.key").touch()
    for path in (new, empty, ours):
        secure(path)
        assert mode(path) == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(DirectoryUnusable, match="file"):
        secure(tmp_path / "file")


def test_a_file_appears_whole_and_private(tmp_path: Path) -> None:
    file = tmp_path / "f"
    assert read_private(file) is None
    old_mask = os.umask(0)
    try:
        replace_private(file, "one")
    finally:
        os.umask(old_mask)
    assert (read_private(file), mode(file)) == ("one", 0o600)
    assert create_private(file, "two") == "one"
    replace_private(file, "three")
    file.chmod(0o644)
    assert read_private(file) == "three"
    assert mode(file) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_of_many_who_create_one_file_all_have_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        told = set(pool.map(create_private, [tmp_path / "f"] * 50, map(str, range(50))))
    assert len(told) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_directory_with_other_things_in_it_is_left_as_it_is(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").touch()
    home.chmod(0o755)
    with pytest.raises(DirectoryUnusable, match="open to everybody"):
        secure(home)
    assert mode(home) == 0o755
    home.chmod(0o700)
    secure(home)


# The secret key


def test_the_first_start_makes_a_key_and_later_ones_use_it(tmp_path: Path) -> None:
    sealed = Vault.open(tmp_path, None).seal(CANARY, **PLACE)
    assert mode(tmp_path / "secret.key") == 0o600
    assert len(base64.b64decode((tmp_path / "secret.key").read_text())) == 32
    assert Vault.open(tmp_path, None).unseal(sealed, **PLACE) == Secret(CANARY)


def test_a_key_may_be_given(tmp_path: Path) -> None:
    key = os.urandom(32)
    sealed = Vault.open(tmp_path, Secret(base64.b64encode(key).decode())).seal(CANARY, **PLACE)
    assert Vault.open(tmp_path, Secret(key.hex())).unseal(sealed, **PLACE) == Secret(CANARY)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    ["", "password", "0" * 64, "QUJD" * 11, base64.b64encode(b"a" * 32).decode(), "é" * 32, "x" * 10_000],
)
def test_a_weak_key_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadConfig, match="openssl rand") as error:
        Vault.open(tmp_path, Secret(text))
    assert not text or text not in error.value.text
    (tmp_path / "secret.key").write_text(text)
    with pytest.raises(BadConfig, match=r"secret\.key"):
        Vault.open(tmp_path, None)


# Sealing


def test_a_key_is_bound_to_its_provider_and_address(tmp_path: Path) -> None:
    vault = Vault.open(tmp_path, None)
    sealed = vault.seal(CANARY, **PLACE)
    assert CANARY.encode() not in sealed
    assert vault.seal(CANARY, **PLACE) != sealed
    assert vault.unseal(sealed, name="p", base_url="https://h/v1/") == Secret(CANARY)
    for name, base_url in (
        ("q", "https://h/v1"),
        ("p", "https://evil/v1"),
        ("p", ""),
        ("p\0https:", "//h/v1"),
    ):
        assert vault.unseal(sealed, name=name, base_url=base_url) is None


def test_what_is_damaged_or_anothers_is_not_opened(tmp_path: Path) -> None:
    vault = Vault.open(tmp_path, None)
    sealed = vault.seal(CANARY, **PLACE)
    other = Vault.open(tmp_path, Secret(os.urandom(32).hex()))
    assert other.unseal(sealed, **PLACE) is None
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        assert vault.unseal(bytes(changed), **PLACE) is None
    for length in range(len(sealed)):
        assert vault.unseal(sealed[:length], **PLACE) is None


# Stored providers


def provider(**more: object) -> ProviderConfig:
    plain = ProviderConfig(name="p", kind="openai", base_url="https://h/v1", api_key=CANARY)
    return replace(plain, **more)


async def test_a_key_goes_in_and_only_the_registry_gets_it(house: House) -> None:
    admin = await house.admin()
    told = await house.stored.put_provider(admin, provider())
    assert told == Written(provider(api_key=None), has_key=True)
    assert (await house.stored.read()).providers == (provider(),)
    entries = await house.entries()
    assert CANARY not in repr(entries)
    assert CANARY.encode() not in encode(entries)
    rows = await house.store.read(provider_configs.providers())
    assert CANARY not in repr(rows)
    assert rows[0].sealed_key is not None
    assert CANARY.encode() not in rows[0].sealed_key
    assert CANARY not in repr(await house.stored.read())


async def test_nothing_of_it_is_in_the_database_file(house: House) -> None:
    await house.stored.put_provider(await house.admin(), provider())
    for file in house.data.parent.glob("holdfast.db*"):
        assert CANARY.encode() not in file.read_bytes()


async def test_without_a_new_key_the_old_one_stays_if_the_address_does(house: House) -> None:
    admin = await house.admin()
    await house.stored.put_provider(admin, provider())
    await house.stored.put_provider(admin, provider(api_key=None, enabled=False))
    assert (await house.stored.read()).providers == (provider(enabled=False),)
    for moved in (
        provider(api_key=None, base_url="https://evil/v1"),
        provider(api_key=None, base_url=None),
        provider(api_key=None, base_url="https://h/v2"),
    ):
        with pytest.raises(InvalidInput, match="needs the key again"):
            await house.stored.put_provider(admin, moved)
    assert (await house.stored.read()).providers == (provider(enabled=False),)
    await house.stored.put_provider(admin, provider(base_url="https://other/v1", api_key="new"))
    assert (await house.stored.read()).providers == (provider(base_url="https://other/v1", api_key="new"),)


async def test_another_kind_is_another_address(house: House) -> None:
    admin = await house.admin()
    await house.stored.put_provider(admin, provider(base_url=None))
    with pytest.raises(InvalidInput, match="needs the key again"):
        await house.stored.put_provider(admin, provider(base_url=None, kind="groq", api_key=None))


async def test_an_address_that_was_changed_behind_our_back_gets_no_key(house: House) -> None:
    await house.stored.put_provider(await house.admin(), provider())
    evil = '{"kind": "openai", "base_url": "https://evil/v1"}'
    await house.store.write(query("UPDATE provider_configs SET config = $1", evil, read=len))
    kept = await house.stored.read()
    assert kept.providers == ()
    assert kept.unusable == ("The key of the provider p cannot be opened; enter it again.",)


@pytest.mark.parametrize("key", ["env:HOME", "file:/etc/passwd"])
async def test_nobody_makes_the_server_read_its_files_for_them(house: House, key: str) -> None:
    with pytest.raises(InvalidInput, match="the key itself"):
        await house.stored.put_provider(await house.admin(), provider(api_key=key))


async def test_what_makes_no_sense_is_refused(house: House) -> None:
    admin = await house.admin()
    for wrong in (provider(kind="nonsense"), provider(base_url="nonsense"), provider(name="a b")):
        with pytest.raises(InvalidInput):
            await house.stored.put_provider(admin, wrong)
    with pytest.raises(InvalidInput):
        await house.stored.put_model(admin, ModelConfig(name="m", provider="p", model="x", temperature=3))
    assert await house.entries() == {}


async def test_models_and_what_uses_them(house: House) -> None:
    admin = await house.admin()
    await house.stored.put_provider(admin, provider())
    model = ModelConfig(name="m", provider="p", model="x", efforts=("low",), provider_options={"a": [1]})
    assert await house.stored.put_model(admin, model) == model
    assert (await house.stored.read()).models == (model,)
    with pytest.raises(WrongState, match="m"):
        await house.stored.delete_provider(admin, "p")
    await house.stored.delete_model(admin, "m")
    await house.stored.delete_provider(admin, "p")
    with pytest.raises(NotFound):
        await house.stored.delete_provider(admin, "p")
    assert {*await house.entries()} == {"provider.put", "model.put", "model.delete", "provider.delete"}


async def test_only_admins_configure(house: House) -> None:
    anna = await house.person("anna")
    for act in (
        house.stored.put_provider(anna, provider()),
        house.stored.delete_provider(anna, "p"),
        house.stored.put_model(anna, ModelConfig(name="m", provider="p", model="x")),
        house.stored.delete_model(anna, "m"),
    ):
        with pytest.raises(Forbidden):
            await act


async def test_rows_of_another_version_do_not_keep_the_rest_away(house: House) -> None:
    admin = await house.admin()
    await house.stored.put_provider(admin, provider())
    await house.stored.put_provider(admin, provider(name="q"))
    await house.stored.put_model(admin, ModelConfig(name="m", provider="p", model="x"))
    changed = '{"kind": "openai", "api": "telepathy", "api_key": "x"}'
    await house.store.write(
        query("UPDATE provider_configs SET config = $1 WHERE name = 'q'", changed, read=len)
    )
    await house.store.write(query("UPDATE model_configs SET config = '[]'", read=len))
    kept = await house.stored.read()
    assert kept.providers == (provider(),)
    assert (kept.models, len(kept.unusable)) == ((), 2)


async def test_a_server_with_another_secret_key_does_not_start(house: House) -> None:
    await house.vault.check(house.store)
    await house.stored.put_provider(await house.admin(), provider())
    await house.vault.check(house.store)
    other = Vault.open(house.data, Secret(os.urandom(32).hex()))
    with pytest.raises(BadSecretKey, match=r"keys of p .* server\.secret_key") as error:
        await other.check(house.store)
    assert CANARY not in error.value.text
    # With providers that need no key it starts.
    await house.stored.delete_provider(await house.admin(), "p")
    await Stored(house.store, other, house.clock, house.ids).put_provider(
        await house.admin(), provider(api_key=None)
    )
    await other.check(house.store)
