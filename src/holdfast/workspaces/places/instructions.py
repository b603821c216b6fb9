"""People's instructions for agents: the server's AGENTS.md, then AGENTS.md (else CLAUDE.md) of the workspace
and of every folder down to where the work is. Read by descriptor, bounded. How a model is shown them:
`prompt/workspace.py`."""

import os
from collections.abc import Iterator
from pathlib import Path

from holdfast.core.errors import HoldfastError, NotFound
from holdfast.core.shapes import Record
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.line_ranges import open_file, read_up_to
from holdfast.workspaces.files.paths import Parts, shown_path

NAMES = ("AGENTS.md", "CLAUDE.md")
LIMIT_BYTES = 64 * 1024


class Instructions(Record, frozen=True, kw_only=True):
    """`source` is the path as people know it: in the workspace, or in the server's configuration. One that
    cannot be read has no text, but an error."""

    source: str
    text: str = ""
    truncated: bool = False
    error: str | None = None


def read_instructions(config: Path | None, root: Root | None, work: Parts = ()) -> tuple[Instructions, ...]:
    """From the most general to the most specific; missing and empty ones are left out."""
    found: list[Instructions] = []
    if config is not None and (own := _read_config(config / NAMES[0])) is not None:
        found.append(own)
    if root is not None:
        with root.open() as tree:
            for depth in range(len(work) + 1):
                found += _read_folder(tree, work[:depth])
    return tuple(found)


def _read_config(path: Path) -> Instructions | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _unread(str(path), error)
    try:
        return _made(str(path), read_up_to(descriptor, LIMIT_BYTES + 1))
    except OSError as error:
        return _unread(str(path), error)
    finally:
        os.close(descriptor)


def _unread(source: str, error: OSError) -> Instructions:
    return Instructions(source=source, error=f"It cannot be read: {error.strerror or 'unknown reason'}.")


def _read_folder(tree: Tree, folder: Parts) -> Iterator[Instructions]:
    """The first that has a text, after those that should have been it."""
    for name in NAMES:
        parts = (*folder, name)
        try:
            with tree.place(parts) as place, open_file(place, parts) as descriptor:
                found = _made(shown_path(parts), read_up_to(descriptor, LIMIT_BYTES + 1))
        except (NotFound, FileNotFoundError):
            continue
        except HoldfastError as error:
            found = Instructions(source=shown_path(parts), error=error.text)
        except OSError as error:
            found = _unread(shown_path(parts), error)
        if found is not None:
            yield found
            if found.text:
                return


def _made(source: str, data: bytes) -> Instructions | None:
    if b"\0" in data:
        return Instructions(source=source, error="It is not text.")
    # If a character was cut, the rest of it is not text.
    text = data[:LIMIT_BYTES].decode("utf-8-sig", "ignore").strip()
    return Instructions(source=source, text=text, truncated=len(data) > LIMIT_BYTES) if text else None
