"""What an agent makes in a workspace is looked at within bounds, and as what it is at that moment."""

import os
import threading
from pathlib import Path

import pytest

from holdfast.changes import shadow
from holdfast.changes.shadow import Shadow
from holdfast.core.errors import WrongState
from holdfast.workspaces.files.file_root import Root


@pytest.mark.parametrize("names", ["one directory", "many"])
def test_too_many_files_are_refused_and_forgotten(
    names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadow, "MOST_ENTRIES", 20)
    work = tmp_path / "work"
    work.mkdir()
    (work / "first").write_text("1")
    seen = Shadow(tmp_path / "shadow")
    seen.look(Root(work))
    seen.keep()
    made = [work / (f"{n}" if names == "one directory" else f"d{n}/f") for n in range(21)]
    for path in made:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    with pytest.raises(WrongState, match="more than 20 files"):
        seen.look(Root(work))
    seen.keep()
    for path in made:
        path.unlink()
    for path in made if names != "one directory" else ():
        path.parent.rmdir()
    (work / "first").write_text("2!")
    assert [each.path for each in seen.look(Root(work)).differences] == ["first"]


def test_no_more_is_copied_than_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow, "SCAN_BYTES", 1000)
    work = tmp_path / "work"
    work.mkdir()
    for number in range(5):
        (work / f"{number}").write_bytes(os.urandom(400))
    seen = Shadow(tmp_path / "shadow")
    assert len(seen.look(Root(work)).skipped) == 3
    assert seen.objects.size() < 1200


def test_a_link_to_the_outside_that_takes_a_files_place_is_not_followed(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    for directory in (work, outside):
        (directory / "d").mkdir(parents=True)
        (directory / "d" / "f").write_text("canary" if directory == outside else "mine")
    (tmp_path / "link").symlink_to(outside / "d")
    done = threading.Event()

    def exchange() -> None:
        while not done.is_set():
            (work / "d").rename(work / "e")
            (tmp_path / "link").rename(work / "d")
            (work / "d").rename(tmp_path / "link")
            (work / "e").rename(work / "d")

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for number in range(60):
            seen = Shadow(tmp_path / f"shadow{number}")
            seen.look(Root(work))
            seen.keep()
            assert all(seen.objects.get(blob) != b"canary" for blob in seen.needed())
    finally:
        done.set()
        thread.join()
