"""The data directory: closed to others, but only if that locks nobody out."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.errors import DirectoryUnusable
from holdfast.store import directory
from holdfast.store.directory import secure
from holdfast.store.open import open_store


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        secure(tmp_path / "deep" / "data")
    finally:
        os.umask(before)
    assert mode(tmp_path / "deep" / "data") == 0o700


@pytest.mark.parametrize("held", [(), ("holdfast.db", "something"), ("admin.token",), ("secret.key",)])
def test_one_of_ours_that_is_open_is_closed(tmp_path: Path, held: tuple[str, ...]) -> None:
    for name in held:
        (tmp_path / name).touch()
    tmp_path.chmod(0o775)
    secure(tmp_path)
    assert mode(tmp_path) == 0o700


def test_one_that_holds_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(DirectoryUnusable, match=r"mode 755\) and contains other files"):
        secure(tmp_path)
    assert mode(tmp_path) == 0o755
    # Closed, whatever it holds is the person's own business.
    tmp_path.chmod(0o700)
    secure(tmp_path)


def test_one_of_another_user_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setattr(directory.os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(DirectoryUnusable, match="belongs to another user"):
        secure(tmp_path)
    assert mode(tmp_path) == 0o777


async def test_a_server_closes_its_directory_but_not_one_that_was_named_for_the_file(tmp_path: Path) -> None:
    hints: list[Any] = []
    named = tmp_path / "project"
    named.mkdir(mode=0o755)
    store = await open_store(f"sqlite:{named / 'my.db'}", data=tmp_path, publish=hints.append)
    await store.close()
    assert mode(named) == 0o755
    assert mode(named / "my.db") == 0o600
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    store = await open_store("sqlite", data=data, publish=hints.append)
    await store.close()
    assert mode(data) == 0o700
