"""A working directory and a home of the test's own, so that nobody's configuration is read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.config.load import Flags, load
from holdfast.config.sections import Config

Loading = Callable[..., Config]


@pytest.fixture
def loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loading:
    """`loading(toml, HOLDFAST_X="y", flags=...)`: what these come to."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(home))

    def read(toml: str | None = None, *, flags: Flags | None = None, **environ: str) -> Config:
        if toml is not None:
            (work / "holdfast.toml").write_text(toml)
        return load(flags or Flags(), {"HOME": str(home), **environ})

    return read
