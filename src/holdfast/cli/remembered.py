"""What the command line remembers between sessions, in the user's state directory: typed lines, and
directories that agents must not work in. Only the user can read the files; losing them loses no work."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

MOST_LINES = 2000
# A line longer than this was pasted, and is not worth keeping.
LONGEST_LINE = 20_000


def state_directory(environ: Mapping[str, str]) -> Path:
    return Path(os.path.expanduser(environ.get("XDG_STATE_HOME") or "~/.local/state"), "holdfast")


class Remembered:
    """Texts in the order they were added, one JSON string a line. Several programs may add at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> tuple[str, ...]:
        """The newest ones, the oldest first. Raises OSError."""
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return ()
        found = tuple(_decoded(lines))[-MOST_LINES:]
        if len(lines) > 2 * MOST_LINES:
            self._replace(found)
        return found

    def add(self, text: str) -> None:
        """Raises OSError."""
        if len(text) > LONGEST_LINE:
            return
        self._make_directory()
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            file.write(msgspec.json.encode(text) + b"\n")

    def _replace(self, texts: Iterable[str]) -> None:
        new = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(msgspec.json.encode(text) + b"\n" for text in texts)
        new.replace(self._path)

    def _make_directory(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def typed_lines(environ: Mapping[str, str]) -> Remembered:
    return Remembered(state_directory(environ) / "history")


def declined_directories(environ: Mapping[str, str]) -> Remembered:
    return Remembered(state_directory(environ) / "declined")


def _decoded(lines: Iterable[bytes]) -> Iterable[str]:
    """Skips lines that are not a JSON string, which another version or an editor may have left."""
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=str)
        except msgspec.DecodeError:
            continue
