"""Where flows are found: in the project, in the home directory, in the catalogue. If several have the same
name, the nearest wins. An unusable file is listed with its error and hides no other."""

import asyncio
import os
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from holdfast.core.errors import BadFlow, BadScript, InvalidInput, NotFound
from holdfast.core.ids import UserId, WorkspaceId
from holdfast.core.shapes import Record
from holdfast.flows.code import check_code
from holdfast.flows.definition import Flow
from holdfast.flows.evaluator import FlowEvaluator
from holdfast.flows.placed_values import MAX_BYTES
from holdfast.scripts.discovery import file_bytes
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.runs.library import LibraryPlace
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.chat_directory import Workspaces

FlowOrigin = Literal["project", "home", "catalogue"]

INSIDE = (".holdfast", "flows")
SUFFIXES = (".yaml", ".yml", ".json")
CATALOGUE = Path(__file__).with_name("catalogue")
MAX_FILES = 500


class FlowFile(Record, frozen=True, kw_only=True):
    """One file. If it holds no usable flow there is an error, and the name is the file's."""

    name: str
    origin: FlowOrigin
    # Below the workspace or the home directory (`~`), or the name of a file in the catalogue.
    path: str
    text: str = ""
    flow: Flow | None = None
    error: str | None = None
    line: int | None = None
    column: int | None = None
    # Whether it hides a flow of the catalogue with the same name.
    hides_builtin: bool = False
    # The path of the nearer flow of the same name, which is run instead.
    hidden_by: str | None = None


class FlowLibrary:
    """`workspaces` is None where there are none."""

    def __init__(
        self, workspaces: Workspaces | None, home: Path | None, evaluator: FlowEvaluator, reader: ScriptReader
    ) -> None:
        self.evaluator = evaluator
        self._workspaces = workspaces
        self._home = home
        self._reader = reader

    async def read(self, text: str) -> Flow:
        """The definition, with its code checked. Raises BadFlow."""
        flow = await self.evaluator.read(text)
        await asyncio.to_thread(check_code, flow, self._reader)
        return flow

    async def listed(self, workspace_id: WorkspaceId | None, owner_id: UserId) -> tuple[FlowFile, ...]:
        """All flows by name; among equal names the nearest first."""
        roots = await self._roots(workspace_id, owner_id)
        found = await asyncio.to_thread(lambda: [file for root in roots for file in _files(*root)])
        return _ranked([await self._checked(file) for file in found])

    async def find(self, name: str, workspace_id: WorkspaceId | None, owner_id: UserId) -> FlowFile:
        """The flow that this name stands for. Raises NotFound or BadFlow."""
        listed = await self.listed(workspace_id, owner_id)
        for file in listed:
            if file.name == name and file.flow is not None and file.hidden_by is None:
                return file
        for file in listed:
            if file.name == name and file.error is not None:
                raise BadFlow(f"{file.path}: {file.error}", file.line, file.column)
        names = sorted({file.name for file in listed if file.flow is not None})
        close = get_close_matches(name, names, n=3) or names
        raise NotFound(f"There is no flow “{name[:100]}”. There is: {', '.join(close)}.")

    async def _checked(self, file: FlowFile) -> FlowFile:
        if file.error is not None:
            return file
        try:
            flow = await self.read(file.text)
        except BadFlow as error:
            return replace(file, error=error.sentence, line=error.line, column=error.column)
        return replace(file, name=flow.name, flow=flow)

    async def _roots(
        self, workspace_id: WorkspaceId | None, owner_id: UserId
    ) -> list[tuple[Root, tuple[str, ...], FlowOrigin]]:
        found: list[tuple[Root, tuple[str, ...], FlowOrigin]] = []
        project: Root | None = None
        if workspace_id is not None and self._workspaces is not None:
            project = await self._workspaces.root_of(LibraryPlace(workspace_id, owner_id))
            found.append((project, INSIDE, "project"))
        if self._home is not None and (project is None or project.path != self._home):
            found.append((Root(self._home), INSIDE, "home"))
        return [*found, (Root(CATALOGUE), (), "catalogue")]


def _files(root: Root, inside: tuple[str, ...], origin: FlowOrigin) -> list[FlowFile]:
    try:
        with root.open() as tree, tree.directory(inside) as directory:
            names = sorted(name for name in os.listdir(directory) if name.endswith(SUFFIXES))
            return [_file(name, directory, inside, origin) for name in names[:MAX_FILES]]
    except (NotFound, InvalidInput):
        return []  # no such directory, or one that leads elsewhere


def _file(name: str, directory: int, inside: tuple[str, ...], origin: FlowOrigin) -> FlowFile:
    path = "/".join((*(("~",) if origin == "home" else ()), *inside, name))
    found = FlowFile(name=os.path.splitext(name)[0], origin=origin, path=path)
    try:
        return replace(found, text=file_bytes(name, directory, MAX_BYTES).decode())
    except BadScript as error:
        return replace(found, error=error.text)
    except UnicodeDecodeError as error:
        return replace(
            found,
            error="the file is not UTF-8.",
            line=error.object.count(b"\n", 0, error.start) + 1,
            column=1,
        )


def _ranked(files: list[FlowFile]) -> tuple[FlowFile, ...]:
    builtin = {file.name for file in files if file.origin == "catalogue" and file.flow is not None}
    first: dict[str, str] = {}
    ranked: list[FlowFile] = []
    for file in files:
        if file.flow is not None:
            nearer = first.setdefault(file.name, file.path)
            file = replace(
                file,
                hides_builtin=file.origin != "catalogue" and file.name in builtin,
                hidden_by=None if nearer == file.path else nearer,
            )
        ranked.append(file)
    return tuple(sorted(ranked, key=lambda file: file.name))
