"""A look at a workspace: what cannot be read is not taken for deleted."""

from pathlib import Path

import pytest

from holdfast.changes import shadow as shadow_module
from holdfast.changes.shadow import Shadow
from holdfast.workspaces.files.file_root import Root


def unreadable(name: str, directory: int) -> None:
    """As for a server that is not root, after `chmod 000`."""


def test_what_cannot_be_looked_at_is_not_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    (work / "closed" / "deep").mkdir(parents=True)
    (work / "closed" / "deep" / "a.txt").write_text("a")
    (work / "b.txt").write_text("b")
    root, shadow = Root(work), Shadow(tmp_path / "shadow")
    shadow.look(root)
    shadow.keep()
    with monkeypatch.context() as patched:
        patched.setattr(shadow_module, "_opened", unreadable)
        (work / "b.txt").unlink()
        look = shadow.look(root)
        shadow.keep()
    assert [each.path for each in look.differences] == ["b.txt"]
    assert look.skipped == ("closed/",)
    assert shadow.look(root).differences == ()
