"""Where workflows are found: in the project, in the home directory, in the catalogue. The nearest of a name
wins. A file that cannot be read is listed with its error and hides nothing. Reading blocks: call it in a
thread."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from holdfast.core.errors import BadScript, InvalidInput, NotFound
from holdfast.core.runs import Language
from holdfast.core.shapes import Record
from holdfast.scripts.source import MAX_BYTES, SUFFIXES, Script
from holdfast.workspaces.files.file_root import Root

# Reads a script, or raises BadScript.
Read = Callable[[bytes, Language], Script]
Origin = Literal["project", "home", "catalogue"]

OURS = (".holdfast", "workflows")
THEIRS = (".claude", "workflows")
CATALOGUE = Path(__file__).with_name("catalogue")
MAX_FILES = 1000


class WorkflowDirectory(Record, frozen=True, kw_only=True):
    """A directory of workflows: `inside` is below `root`, and nothing in it leads out of there."""

    root: Root
    inside: tuple[str, ...]
    origin: Origin
    suffixes: tuple[str, ...]


class Workflow(Record, frozen=True, kw_only=True):
    """One file. Without a script there is an error, and the name is the file's."""

    name: str
    origin: Origin
    path: str
    language: Language
    script: Script | None = None
    error: str | None = None
    line: int | None = None
    # It overrides a workflow of the catalogue with the same name.
    hides_builtin: bool = False
    # The path of the nearer workflow of the same name, which is run instead.
    hidden_by: str | None = None


def places(project: Root | None, home: Path | None) -> tuple[WorkflowDirectory, ...]:
    """Nearest first."""
    found: list[WorkflowDirectory] = []
    roots: list[tuple[Root, Origin]] = [(project, "project")] if project is not None else []
    if home is not None and (project is None or home != project.path):
        roots.append((Root(home), "home"))
    for root, origin in roots:
        found.append(WorkflowDirectory(root=root, inside=OURS, origin=origin, suffixes=(".js", ".py")))
        found.append(WorkflowDirectory(root=root, inside=THEIRS, origin=origin, suffixes=(".js",)))
    return (
        *found,
        WorkflowDirectory(root=Root(CATALOGUE), inside=(), origin="catalogue", suffixes=(".js", ".py")),
    )


def discover(where: tuple[WorkflowDirectory, ...], read: Read) -> tuple[Workflow, ...]:
    """All of them, by name, the nearest first."""
    files = [workflow for place in where for workflow in _read_place(place, read)]
    builtin = {file.name for file in files if file.origin == "catalogue" and file.script is not None}
    first: dict[str, str] = {}
    listed: list[Workflow] = []
    for file in files:
        if file.script is not None:
            nearer = first.setdefault(file.name, file.path)
            listed.append(_placed(file, nearer if nearer != file.path else None, builtin))
        else:
            listed.append(file)
    return tuple(sorted(listed, key=lambda workflow: workflow.name))


def find(name: str, where: tuple[WorkflowDirectory, ...], read: Read) -> Workflow:
    """The workflow that this name refers to."""
    listed = discover(where, read)
    for workflow in listed:
        if workflow.name == name and workflow.script is not None and workflow.hidden_by is None:
            return workflow
    for workflow in listed:
        if workflow.name == name and workflow.error is not None:
            raise BadScript(f"{workflow.path}: {workflow.error}", workflow.line)
    names = sorted({workflow.name for workflow in listed if workflow.script is not None})
    close = get_close_matches(name, names, n=3) or names
    raise NotFound(f"There is no workflow “{name}”. There is: {', '.join(close)}.")


def read_at(root: Root, path: str, read: Read) -> Script:
    """The script at a path inside a workspace, for `workflow({scriptPath})`."""
    language = SUFFIXES.get(os.path.splitext(path)[1])
    if language is None:
        raise InvalidInput(f"{path} is not a workflow script: its name ends in .js or .py.")
    with root.open() as tree, tree.place(root.parse(path)) as found:
        return read(file_bytes(found.name, found.directory), language)


def _placed(file: Workflow, nearer: str | None, builtin: set[str]) -> Workflow:
    return Workflow(
        name=file.name,
        origin=file.origin,
        path=file.path,
        language=file.language,
        script=file.script,
        hides_builtin=file.origin != "catalogue" and file.name in builtin,
        hidden_by=nearer,
    )


def _read_place(place: WorkflowDirectory, read: Read) -> Iterator[Workflow]:
    try:
        with place.root.open() as tree, tree.directory(place.inside) as directory:
            names = sorted(name for name in os.listdir(directory) if name.endswith(place.suffixes))
            for name in names[:MAX_FILES]:
                yield _read_file(place, name, directory, read)
    except (NotFound, InvalidInput):
        return  # no such directory, or one that leads elsewhere


def _read_file(place: WorkflowDirectory, name: str, directory: int, read: Read) -> Workflow:
    stem, suffix = os.path.splitext(name)
    path = str(place.root.path.joinpath(*place.inside, name))
    language = SUFFIXES[suffix]
    try:
        script = read(file_bytes(name, directory), language)
    except BadScript as error:
        return Workflow(
            name=stem, origin=place.origin, path=path, language=language, error=error.text, line=error.line
        )
    return Workflow(name=script.meta.name, origin=place.origin, path=path, language=language, script=script)


def file_bytes(name: str, directory: int, most: int = MAX_BYTES) -> bytes:
    """Never blocks and never follows a link: a name may be anything by now."""
    try:
        descriptor = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory
        )
    except OSError as error:
        why = (
            "it is a symbolic link" if error.errno == errno.ELOOP else (error.strerror or str(error)).lower()
        )
        raise BadScript(f"The file cannot be read: {why}.") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadScript("The file cannot be read: it is not an ordinary file.")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(most + 1)
    finally:
        os.close(descriptor)
