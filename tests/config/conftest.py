"""A working directory and a home of the test's own, so that nobody's configuration is read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.config.load import Flags, load
from holdfast.config.sections import Config

Loading = Callable[..., Config]


def file_of(tmp_path: Path) -> Path:
    """The person's own configuration file."""
    return tmp_path / "home" / ".config" / "holdfast" / "holdfast.toml"


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
            file_of(tmp_path).parent.mkdir(parents=True, exist_ok=True)
            file_of(tmp_path).write_text(toml)
        return load(flags or Flags(), {"HOME": str(home), **environ})

    return read
