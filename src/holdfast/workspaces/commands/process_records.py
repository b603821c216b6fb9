"""What is known about a process, as a file: with the running ones until it ends, then next to its output.
Written before the process is started, so that the next server finds it if this one is killed."""

import os
import re
import shutil
import stat
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal, NewType

import msgspec

from holdfast.core.errors import Bug
from holdfast.core.ids import ChatId
from holdfast.core.shapes import Record, encode
from holdfast.workspaces.commands.mounts import Private
from holdfast.workspaces.commands.output_files import stored
from holdfast.workspaces.git.git_directories import Seen

ProcessId = NewType("ProcessId", str)

# `stopped`: by somebody, `lost`: with the server.
How = Literal["exited", "timed_out", "cancelled", "stopped", "lost"]

# How many of a chat's ended processes stay readable.
KEPT = 50
KEPT_BYTES = 256 * 1024 * 1024

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ProcessEnd(Record, frozen=True, kw_only=True):
    how: How
    at: datetime
    # The command's exit code; 128 and more: the signal that ended it, as in shells.
    exit_code: int | None = None
    out_of_memory: bool = False
    printed: int = 0


class ProcessEntry(Record, frozen=True, kw_only=True):
    id: ProcessId
    chat_id: ChatId
    command: str
    cwd: str
    background: bool
    started_at: datetime
    # A secret in the environment of everything it starts: processes that have it are ours.
    mark: str
    # Where it may write, the workspace first, and the repositories there when it started: what it left in
    # them for a person's git is looked for when it has ended, if necessary by the next server.
    places: tuple[str, ...] = ()
    repositories: tuple[Seen, ...] = ()
    end: ProcessEnd | None = None


class Shelf:
    """The directories of commands, below the server's data directory."""

    def __init__(self, data: Path) -> None:
        self._running = data / "commands" / "running"
        self._chats = data / "commands" / "chats"
        for directory in (self._running, self._chats):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def private(self, chat_id: ChatId) -> Private:
        chat = self._chat(chat_id)
        private = Private(home=chat / "home", temporary=chat / "tmp")
        for directory in (chat, private.home, private.temporary, chat / "processes"):
            directory.mkdir(mode=0o700, exist_ok=True)
        # As every program expects it; nobody else gets this far.
        private.temporary.chmod(0o1777)
        return private

    def directory(self, chat_id: ChatId, process_id: ProcessId) -> Path:
        return self._chat(chat_id) / "processes" / _checked(process_id)

    def output(self, entry: ProcessEntry) -> Path:
        return self.directory(entry.chat_id, entry.id) / "output"

    def write(self, entry: ProcessEntry) -> None:
        _write(self._running / f"{_checked(entry.id)}.json", entry)

    def finish(self, entry: ProcessEntry) -> None:
        """The final record of a process. Its directory may be gone, with the chat."""
        with suppress(FileNotFoundError):
            _write(self.directory(entry.chat_id, entry.id) / "entry.json", entry)
        (self._running / f"{entry.id}.json").unlink(missing_ok=True)

    def unfinished(self) -> list[ProcessEntry]:
        found = [_read(path) for path in sorted(self._running.glob("*.json"))]
        return [entry for entry in found if entry is not None]

    def finished(self, chat_id: ChatId, process_id: str) -> ProcessEntry | None:
        if _NAME.fullmatch(process_id) is None:
            return None
        return _read(self.directory(chat_id, ProcessId(process_id)) / "entry.json")

    def all_finished(self, chat_id: ChatId) -> list[ProcessEntry]:
        """Oldest first."""
        found = [_read(path) for path in (self._chat(chat_id) / "processes").glob("*/entry.json")]
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.started_at)

    def discard(self, entry: ProcessEntry) -> None:
        """It was never started."""
        _remove_tree(self.directory(entry.chat_id, entry.id))
        (self._running / f"{entry.id}.json").unlink(missing_ok=True)

    def make_room(self, chat_id: ChatId) -> None:
        """Deletes the oldest ended ones, beyond a number and a size."""
        sizes = [stored(path / "output") for path in (self._chat(chat_id) / "processes").glob("*")]
        if len(sizes) < KEPT and sum(sizes) < KEPT_BYTES:
            return
        size = 0
        for place, entry in enumerate(reversed(self.all_finished(chat_id))):
            size += stored(self.output(entry))
            if place >= KEPT or (place > 0 and size > KEPT_BYTES):
                _remove_tree(self.directory(chat_id, entry.id))

    def chats(self) -> list[str]:
        """The names of all directories of chats."""
        return sorted(path.name for path in self._chats.iterdir())

    def remove_chat(self, chat_id: ChatId) -> None:
        _remove_tree(self._chat(chat_id))

    def _chat(self, chat_id: ChatId) -> Path:
        return self._chats / _checked(chat_id)


def _checked(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise Bug(f"{name!r} cannot be the name of a directory")
    return name


def _write(path: Path, entry: ProcessEntry) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(encode(entry))
    fresh.rename(path)


def _read(path: Path) -> ProcessEntry | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProcessEntry)
    except (OSError, msgspec.DecodeError):
        return None


def _remove_tree(directory: Path) -> None:
    """Also removes what a command made unwritable."""
    with suppress(FileNotFoundError):
        try:
            shutil.rmtree(directory)
        except PermissionError:
            for path, _, _ in os.walk(directory):
                os.chmod(path, stat.S_IRWXU)
            shutil.rmtree(directory, ignore_errors=True)
