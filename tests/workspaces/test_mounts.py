"""What a command sees, as data."""

import os
from pathlib import Path

from holdfast.workspaces.commands.mounts import (
    Bind,
    CommandPlace,
    CoverDirectory,
    CoverFile,
    Mount,
    Private,
    plan,
    system_mounts,
    unreadable,
)

PRIVATE = Private(home=Path("/data/home"), temporary=Path("/data/tmp"))
SYSTEM: tuple[Mount, ...] = (Bind(source="/usr", target="/usr"), CoverFile(target="/etc/shadow"))


def targets(mounts: tuple[Mount, ...]) -> list[str]:
    return [mount.target for mount in mounts]


def test_outer_mounts_come_before_inner_ones() -> None:
    place = CommandPlace(
        root=Path("/data/scratch/one"), readable=(Path("/"), Path("/data/scratch/one/deep/er"))
    )
    found = targets(plan(SYSTEM, place, PRIVATE, (Path("/data"),)))
    assert found.index("/data") < found.index("/data/scratch/one") < found.index("/data/scratch/one/deep/er")


def test_what_is_hidden_is_covered_only_where_it_could_be_seen(tmp_path: Path) -> None:
    data, config = tmp_path / "home" / "data", tmp_path / "home" / "config.toml"
    data.mkdir(parents=True)
    config.touch()
    hidden = (data, config)
    inside = plan(SYSTEM, CommandPlace(root=tmp_path / "home"), PRIVATE, hidden)
    assert CoverDirectory(target=str(data)) in inside
    assert CoverFile(target=str(config)) in inside
    elsewhere = targets(plan(SYSTEM, CommandPlace(root=tmp_path / "other"), PRIVATE, hidden))
    assert not {str(data), str(config)} & set(elsewhere)
    named_alike = targets(plan(SYSTEM, CommandPlace(root=Path(f"{data}-other")), PRIVATE, hidden))
    assert str(data) not in named_alike


def test_only_the_workspace_and_private_directories_can_be_written() -> None:
    place = CommandPlace(root=Path("/work"), writable=(Path("/shared"),), readable=(Path("/opened"),))
    mounts = plan(system_mounts(superuser=True), place, PRIVATE, ())
    writable = {mount.target for mount in mounts if isinstance(mount, Bind) and mount.writable}
    assert writable == {"/work", "/shared", "/tmp", "/var/tmp", "/home/holdfast"}


def test_where_commands_stay_root_what_others_cannot_read_is_covered(tmp_path: Path) -> None:
    (tmp_path / "shown").write_text("")
    (tmp_path / "shown").chmod(0o644)
    (tmp_path / "secret").write_text("")
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "closed").mkdir(mode=0o700)
    covers = set(unreadable(str(tmp_path), None))
    assert covers == {
        CoverFile(target=str(tmp_path / "secret")),
        CoverDirectory(target=str(tmp_path / "closed")),
    }
    assert set(unreadable(str(tmp_path), os.geteuid())) == covers
    assert list(unreadable(str(tmp_path), os.geteuid() + 1)) == []
