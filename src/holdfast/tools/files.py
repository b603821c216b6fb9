"""Tools for files of the workspace. Reads may be repeated freely. `write_file` and `delete_file` are
`idempotent` because a repeated run (after a crash) looks first: what was done is done, and what somebody
changed since is left alone. `edit_files` on one file is `unsafe`: the file alone does not show whether `a` ->
`aa` was already made. An edit of several files is recorded first (`tools/intents.py`), so that a repeated run
can complete it."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from holdfast.core.errors import HoldfastError
from holdfast.tools.collisions import Colliding
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.intents import EditIntents
from holdfast.workspaces.blocking import finishing
from holdfast.workspaces.files.chat_files import ChatFiles, FileOutcome
from holdfast.workspaces.files.edits import MAX_EDITS, PassageEdit
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.places.chat_directory import Workspaces

Path = Annotated[
    str, Meta(description="Relative to the workspace, with / between directories.", examples=["src/main.py"])
]


Line = Annotated[int, Meta(ge=1, le=2**53)]


class ReadFile(Input, frozen=True, kw_only=True):
    path: Path
    start_line: Annotated[Line | None, Meta(description="The first line to read, from 1.")] = None
    end_line: Annotated[Line | None, Meta(description="The last line to read.")] = None


class WriteFile(Input, frozen=True, kw_only=True):
    path: Path
    content: Annotated[
        str, Meta(description="The whole file, exactly as it should be.", examples=["print('hello')\n"])
    ]


class OneEdit(Input, frozen=True, kw_only=True):
    path: Path
    old: Annotated[
        str,
        Meta(
            description="Text from the file, copied exactly, long enough to occur only once.",
            examples=["return x"],
        ),
    ]
    new: Annotated[str, Meta(description="The text that replaces it.", examples=["return x + 1"])]
    all: Annotated[bool, Meta(description="Replace every occurrence of the old text.")] = False


class EditFiles(Input, frozen=True, kw_only=True):
    edits: Annotated[
        list[OneEdit],
        Meta(
            description=f"At most {MAX_EDITS}. All refer to the files as they are now; either all are made "
            "or none.",
            examples=[[{"path": "src/main.py", "old": "return x", "new": "return x + 1"}]],
        ),
    ]


class DeleteFile(Input, frozen=True, kw_only=True):
    path: Path


class ListDirectory(Input, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="A directory; the workspace if omitted.", examples=["src"])] = "."


def file_tools(
    workspaces: Workspaces,
    seen: SeenFiles,
    colliding: Colliding | None = None,
    intents: EditIntents | None = None,
) -> tuple[Tool, ...]:
    """`colliding` tells others what was written. `intents` records edits of several files."""
    files = FileTools(workspaces, seen, colliding, intents)
    return (
        Tool(
            name="read_file",
            description=(
                "Read a text file, or a range of its lines. The answer is the text itself; a last "
                "line in square brackets gives further information (that it is not complete, how "
                "to read on, unusual line ends)."
            ),
            input=ReadFile,
            run=files.read,
            effect="read",
            reach="workspace",
        ),
        Tool(
            name="write_file",
            description=(
                "Write a whole text file; existing content is replaced, missing directories are "
                "created. To change parts of a file use edit_files. Returns the resulting diff."
            ),
            input=WriteFile,
            run=files.write,
            effect="idempotent",
            traits=("writes",),
            reach="workspace",
        ),
        Tool(
            name="edit_files",
            description=(
                "Replace passages in one or more files: either all edits are made or none. Each "
                "old text must occur exactly once, or all must be set. Small deviations "
                "(indentation, blanks at line ends, line ends, typographic quotes) are tolerated "
                "and reported if the place is certain."
            ),
            input=EditFiles,
            run=files.edit,
            effect="unsafe",
            traits=("writes",),
            effect_of=lambda given: (
                "idempotent" if intents is not None and _is_of_several(given) else "unsafe"
            ),
            reach="workspace",
        ),
        Tool(
            name="delete_file",
            description="Delete one file, or a symbolic link (not what it points to). Not for directories.",
            input=DeleteFile,
            run=files.delete,
            effect="idempotent",
            traits=("writes",),
            reach="workspace",
        ),
        Tool(
            name="list",
            description=(
                "List a directory: names, with / after directories and -> before the target of a "
                "link. Includes hidden and ignored files. To find files by name at any depth use "
                "glob."
            ),
            input=ListDirectory,
            run=files.list,
            effect="read",
            reach="workspace",
        ),
    )


class FileTools:
    def __init__(
        self,
        workspaces: Workspaces,
        seen: SeenFiles,
        colliding: Colliding | None,
        intents: EditIntents | None = None,
    ) -> None:
        self._workspaces = workspaces
        self._intents = intents
        self._seen = seen
        self._colliding = colliding

    async def read(self, context: ToolContext, given: ReadFile) -> ToolAnswer:
        return await self._look(
            context, given.path, lambda of: of.read(given.path, given.start_line, given.end_line)
        )

    async def write(self, context: ToolContext, given: WriteFile) -> ToolAnswer:
        return await self._do(context, lambda of: of.write(given.path, given.content))

    async def edit(self, context: ToolContext, given: EditFiles) -> ToolAnswer:
        edits = [(each.path, PassageEdit(old=each.old, new=each.new, all=each.all)) for each in given.edits]
        if (intents := self._intents) is None or not _is_of_several(given):
            return await self._do(context, lambda of: of.edit(edits))
        try:
            root, files = await self._writable(context)
            done = await intents.edit(context, files, edits)
        except HoldfastError as error:
            raise ToolError(error.text) from error
        return await self._told(context, root, done)

    async def delete(self, context: ToolContext, given: DeleteFile) -> ToolAnswer:
        return await self._do(context, lambda of: of.delete(given.path))

    async def list(self, context: ToolContext, given: ListDirectory) -> ToolAnswer:
        return await self._look(context, given.path, lambda of: of.look(given.path))

    async def _look(
        self, context: ToolContext, path: str, what: Callable[[ChatFiles], FileOutcome]
    ) -> ToolAnswer:
        """Reading may go beyond the workspace: as far as a person allowed."""
        try:
            root = await self._workspaces.root_for_reading(context, path)
            files = ChatFiles(root, self._seen, context.chat_id, repeated=context.run > 1)
            done = await finishing(lambda: what(files))
        except HoldfastError as error:
            raise ToolError(error.text) from error
        return ToolAnswer(output=done.text)

    async def _do(self, context: ToolContext, what: Callable[[ChatFiles], FileOutcome]) -> ToolAnswer:
        try:
            root, files = await self._writable(context)
            done = await finishing(lambda: what(files))
        except HoldfastError as error:
            raise ToolError(error.text) from error
        return await self._told(context, root, done)

    async def _writable(self, context: ToolContext) -> tuple[Root, ChatFiles]:
        """For everything that writes: guarded files are refused, and the lease is checked directly before."""
        root = await self._workspaces.root_of(context)
        files = ChatFiles(
            root,
            self._seen,
            context.chat_id,
            repeated=context.run > 1,
            guard=await self._workspaces.guard_of(context),
            still_ours=context.still_ours,
        )
        return root, files

    async def _told(self, context: ToolContext, root: Root, done: FileOutcome) -> ToolAnswer:
        told = () if self._colliding is None else await self._colliding.note(context, root, done.touched)
        return ToolAnswer(output="\n".join((done.text, *told)), outcome=done.outcome, diff=done.diff)


def _is_of_several(given: EditFiles) -> bool:
    return len({each.path for each in given.edits}) > 1
