"""Which workspace a chat works in: the one that was named, else the current directory of this machine. A
directory becomes a workspace when a person agrees; they are asked once."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.cli.client import Client
from holdfast.cli.remembered import declined_directories
from holdfast.core.errors import InvalidInput, NotFound, Refused
from holdfast.core.ids import is_uuid7
from holdfast.core.shapes import Record

_MOST_NAMES = 20
_LONGEST_NAME = 100


class WorkspaceRow(Record, frozen=True, kw_only=True):
    id: str
    name: str
    path: str = ""
    kind: str = ""


class Directory(Record, frozen=True, kw_only=True):
    path: str
    workspace: WorkspaceRow | None
    allowed: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """`workspace_id` is None for a directory of the chat's own; `note` says where it works, and why."""

    workspace_id: str | None = None
    note: str = ""
    # Whether the person could do something about it.
    is_hint: bool = False


async def choose(
    client: Client, word: str | None, environ: Mapping[str, str], ask: Callable[[str], bool] | None
) -> Choice:
    """`word` is what was named; `ask` puts a question to the person, None when there is nobody to ask."""
    if word is not None:
        found = await find_workspace(client, word)
        return Choice(found.id, f"Working in {found.path or found.name}.")
    if not client.is_here:
        return Choice()
    return await _current(client, environ, ask)


async def _current(client: Client, environ: Mapping[str, str], ask: Callable[[str], bool] | None) -> Choice:
    _, directory = await _current_place(client)
    if directory.workspace is not None:
        return Choice(directory.workspace.id, f"Working in {directory.path}.")
    own = "The agent works in a scratch directory"
    if not directory.allowed:
        return Choice(note=f"{own}: {directory.reason}")
    key = f"{client.url} {directory.path}"
    try:
        is_declined = key in declined_directories(environ).read()
    except OSError:
        is_declined = False  # asked again, which does no harm
    if ask is None or is_declined:
        return Choice(
            note=f"{own}, because {directory.path} is not a workspace; `-w .` makes it one.",
            is_hint=not is_declined,
        )
    if not ask(f"Let agents read and change the files in {directory.path}?"):
        try:
            declined_directories(environ).add(key)
        except OSError as error:
            return Choice(note=f"{own}. Your answer could not be saved ({error.strerror}).")
        return Choice(note=f"{own}. To let it work here after all, use `-w .`.")
    made = await register(client, directory.path)
    return Choice(made.id, f"Working in {made.path}, now the workspace {made.name}.")


async def find_workspace(client: Client, word: str) -> WorkspaceRow:
    """By id, by name, or by a path of this machine, which becomes a workspace."""
    found = await registered(client, word)
    if isinstance(found, WorkspaceRow):
        return found
    if not found.allowed:
        raise InvalidInput(found.reason or f"{found.path} cannot be a workspace.")
    return await register(client, found.path)


async def workspace_id_of(client: Client, word: str | None) -> str | None:
    """The workspace that was named, else the one of the current directory. Nothing is registered unasked: if
    scripts of the directory are left out, that is told on standard error."""
    if word is not None:
        return (await find_workspace(client, word)).id
    if not client.is_here:
        return None
    here, directory = await _current_place(client)
    if directory.workspace is not None:
        return directory.workspace.id
    if any((here / ".holdfast" / name).is_dir() for name in ("flows", "workflows")):
        told = f"{directory.path} is not a workspace, so its own workflows and flows are left out"
        print(f"holdfast: {told}; `-w .` makes it one.", file=sys.stderr)
    return None


async def registered(client: Client, word: str) -> WorkspaceRow | Directory:
    """The workspace that the word means, or the directory that is none yet."""
    if is_uuid7(word):
        return await client.get(f"/workspaces/{word}", WorkspaceRow)
    if not _looks_like_path(word):
        async for workspace in client.every("/workspaces", WorkspaceRow):
            if workspace.name == word:
                return workspace
        if not client.is_here or not _is_directory(word):
            raise NotFound(f"There is no workspace {word!r}; `holdfast workspace list` lists them.")
    path = local_path(word)
    if not client.is_here:
        raise InvalidInput(
            f"{path} is a path on this machine, but the server is on another one. Name a workspace there; "
            "`holdfast workspace list` lists them."
        )
    directory = await look_at(client, path)
    return directory if directory.workspace is None else directory.workspace


async def look_at(client: Client, path: Path) -> Directory:
    return await client.get("/workspaces/at", Directory, {"path": str(path)})


async def register(client: Client, path: str, name: str | None = None) -> WorkspaceRow:
    """Under the name that was given, else under the directory's own; one that is taken gets a number."""
    if name is not None:
        return await client.post("/workspaces", WorkspaceRow, {"name": name, "path": path})
    base = Path(path).name[: _LONGEST_NAME - 4] or "root"
    for number in range(1, _MOST_NAMES):
        try:
            tried = base if number == 1 else f"{base}-{number}"
            return await client.post("/workspaces", WorkspaceRow, {"name": tried, "path": path})
        except Refused as error:
            if error.problem != "wrong_state":
                raise
    raise InvalidInput(
        f"Too many workspaces are named {base}. Choose another name: `holdfast workspace add --name`."
    )


def local_path(word: str) -> Path:
    """Absolute, as it was written otherwise."""
    return Path(os.path.abspath(os.path.expanduser(word)))


def _is_directory(word: str) -> bool:
    return os.path.isdir(word)


def _looks_like_path(word: str) -> bool:
    return "/" in word or word in (".", "..") or word.startswith("~")


async def _current_place(client: Client) -> tuple[Path, Directory]:
    """The current directory if it is a workspace, else the repository that it is part of, if it is."""
    here = Path.cwd()
    wanted = next((path for path in (here, *here.parents) if (path / ".git").exists()), here)
    directory = await look_at(client, here)
    if directory.workspace is None and wanted != here:
        return wanted, await look_at(client, wanted)
    return here, directory
