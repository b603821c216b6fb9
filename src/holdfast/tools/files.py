"""Tools for files of the workspace. Reads may be repeated at will. `write_file` and `delete_file` say
`idempotent` because a repeated run (after a crash) first looks: what was done is done, and what somebody made
of it since is left alone. `edit_files` is `unsafe`: from the file alone nobody can tell whether `a` -> `aa`
was made already."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from holdfast.core.errors import HoldfastError
from holdfast.tools.colliding import Colliding
from holdfast.tools.contract import Answer, Context, Input, Tool, ToolError
from holdfast.workspaces.blocking import finishing
from holdfast.workspaces.chat_files import ChatFiles, Done
from holdfast.workspaces.edits import MAX_EDITS, Edit
from holdfast.workspaces.seen import Seen
from holdfast.workspaces.workspaces import Workspaces

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
        str, Meta(description="The whole file, exactly as it shall be.", examples=["print('hello')\n"])
    ]


class OneEdit(Input, frozen=True, kw_only=True):
    path: Path
    old: Annotated[
        str,
        Meta(
            description="Text that is in the file, copied exactly, long enough to be there only once.",
            examples=["return x"],
        ),
    ]
    new: Annotated[str, Meta(description="What takes its place.", examples=["return x + 1"])]
    all: Annotated[bool, Meta(description="Replace every place where the old text is.")] = False


class EditFiles(Input, frozen=True, kw_only=True):
    edits: Annotated[
        list[OneEdit],
        Meta(
            description=f"At most {MAX_EDITS}. All see the files as they are now; all are made or none.",
            examples=[[{"path": "src/main.py", "old": "return x", "new": "return x + 1"}]],
        ),
    ]


class DeleteFile(Input, frozen=True, kw_only=True):
    path: Path


class ListDirectory(Input, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="A directory; without it, the workspace.", examples=["src"])] = "."


def file_tools(workspaces: Workspaces, seen: Seen, colliding: Colliding | None = None) -> tuple[Tool, ...]:
    """`colliding`: who tells others of what was written."""
    files = Files(workspaces, seen, colliding)
    return (
        Tool(
            name="read_file",
            description=(
                "Read a text file, or a range of its lines. The answer is the text itself; a last line in "
                "square brackets says what else there is to know (that it is not all, how to read on, "
                "unusual line ends)."
            ),
            input=ReadFile,
            run=files.read,
            effect="read",
            reach="workspace",
        ),
        Tool(
            name="write_file",
            description=(
                "Write a whole text file; what was there is replaced, directories are made. To change parts "
                "of a file use edit_files. Answers with the difference it made."
            ),
            input=WriteFile,
            run=files.write,
            effect="idempotent",
            reach="workspace",
        ),
        Tool(
            name="edit_files",
            description=(
                "Replace passages in one or more files: all edits are made or none. Each old text must be "
                "found exactly once, or all must be set. Small deviations (indentation, blanks at line "
                "ends, line ends, typographic quotes) are tolerated where the place is certain, and told."
            ),
            input=EditFiles,
            run=files.edit,
            effect="unsafe",
            reach="workspace",
        ),
        Tool(
            name="delete_file",
            description="Delete one file, or a symbolic link (not what it points to). Not for directories.",
            input=DeleteFile,
            run=files.delete,
            effect="idempotent",
            reach="workspace",
        ),
        Tool(
            name="list",
            description=(
                "List a directory: names, with / after directories and -> before what a link points to. "
                "Shows hidden and ignored files too. To find files by name at any depth use glob."
            ),
            input=ListDirectory,
            run=files.list,
            effect="read",
            reach="workspace",
        ),
    )


class Files:
    def __init__(self, workspaces: Workspaces, seen: Seen, colliding: Colliding | None) -> None:
        self._workspaces = workspaces
        self._seen = seen
        self._colliding = colliding

    async def read(self, context: Context, given: ReadFile) -> Answer:
        return await self._look(
            context, given.path, lambda of: of.read(given.path, given.start_line, given.end_line)
        )

    async def write(self, context: Context, given: WriteFile) -> Answer:
        return await self._do(context, lambda of: of.write(given.path, given.content))

    async def edit(self, context: Context, given: EditFiles) -> Answer:
        edits = [(each.path, Edit(old=each.old, new=each.new, all=each.all)) for each in given.edits]
        return await self._do(context, lambda of: of.edit(edits))

    async def delete(self, context: Context, given: DeleteFile) -> Answer:
        return await self._do(context, lambda of: of.delete(given.path))

    async def list(self, context: Context, given: ListDirectory) -> Answer:
        return await self._look(context, given.path, lambda of: of.look(given.path))

    async def _look(self, context: Context, path: str, what: Callable[[ChatFiles], Done]) -> Answer:
        """Reading reaches further than the workspace: as far as a person let it."""
        try:
            root = await self._workspaces.root_for_reading(context, path)
            files = ChatFiles(root, self._seen, context.chat_id, repeated=context.run > 1)
            done = await finishing(lambda: what(files))
        except HoldfastError as error:
            raise ToolError(error.text) from error
        return Answer(output=done.text)

    async def _do(self, context: Context, what: Callable[[ChatFiles], Done]) -> Answer:
        try:
            root = await self._workspaces.root_of(context)
            files = ChatFiles(root, self._seen, context.chat_id, repeated=context.run > 1)
            done = await finishing(lambda: what(files))
        except HoldfastError as error:
            raise ToolError(error.text) from error
        told = () if self._colliding is None else await self._colliding.note(context, root, done.touched)
        return Answer(output="\n".join((done.text, *told)), diff=done.diff)
