"""What a command sees, as data."""

from pathlib import Path

from holdfast.workspaces.mounts import (
    Bind,
    CoverDirectory,
    CoverFile,
    Mount,
    Place,
    Private,
    plan,
    system_mounts,
)

PRIVATE = Private(home=Path("/data/home"), temporary=Path("/data/tmp"))
SYSTEM: tuple[Mount, ...] = (Bind(source="/usr", target="/usr"), CoverFile(target="/etc/shadow"))


def targets(mounts: tuple[Mount, ...]) -> list[str]:
    return [mount.target for mount in mounts]


def test_outer_mounts_come_before_inner_ones() -> None:
    place = Place(root=Path("/data/scratch/one"), readable=(Path("/"), Path("/data/scratch/one/deep/er")))
    found = targets(plan(SYSTEM, place, PRIVATE, (Path("/data"),)))
    assert found.index("/data") < found.index("/data/scratch/one") < found.index("/data/scratch/one/deep/er")


def test_what_is_hidden_is_covered_only_where_it_could_be_seen(tmp_path: Path) -> None:
    data, config = tmp_path / "home" / "data", tmp_path / "home" / "config.toml"
    data.mkdir(parents=True)
    config.touch()
    hidden = (data, config)
    inside = plan(SYSTEM, Place(root=tmp_path / "home"), PRIVATE, hidden)
    assert CoverDirectory(target=str(data)) in inside
    assert CoverFile(target=str(config)) in inside
    elsewhere = targets(plan(SYSTEM, Place(root=tmp_path / "other"), PRIVATE, hidden))
    assert not {str(data), str(config)} & set(elsewhere)
    named_alike = targets(plan(SYSTEM, Place(root=Path(f"{data}-other")), PRIVATE, hidden))
    assert str(data) not in named_alike


def test_only_the_workspace_and_private_directories_can_be_written() -> None:
    place = Place(root=Path("/work"), writable=(Path("/shared"),), readable=(Path("/opened"),))
    mounts = plan(system_mounts(superuser=True), place, PRIVATE, ())
    writable = {mount.target for mount in mounts if isinstance(mount, Bind) and mount.writable}
    assert writable == {"/work", "/shared", "/tmp", "/var/tmp", "/home/holdfast"}


def test_for_root_what_others_cannot_read_is_covered() -> None:
    covered = {mount.target for mount in system_mounts(superuser=True) if not isinstance(mount, Bind)}
    assert "/etc/shadow" in covered or not Path("/etc/shadow").exists()
    assert "/etc/passwd" not in covered
