"""Showing the person a file: it is copied out of the workspace in its current form, and does not change
afterwards."""

from typing import Annotated, cast

import msgspec
from msgspec import Meta

from holdfast.core.errors import HoldfastError
from holdfast.core.shapes import Json
from holdfast.files.stored_files import StoredFiles
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.line_ranges import open_file, read_up_to
from holdfast.workspaces.files.paths import Parts
from holdfast.workspaces.places.chat_directory import Workspaces


class AttachFile(Input, frozen=True, kw_only=True):
    path: Annotated[
        str, Meta(description="A file in the workspace.", examples=["out/chart.png"], min_length=1)
    ]


def attach_tool(workspaces: Workspaces, files: StoredFiles) -> Tool:
    attaching = Attaching(workspaces, files)
    return Tool(
        name="attach_file",
        description=(
            "Show the user a file from the workspace in its current form: a picture (png, jpeg, "
            "gif, webp), a pdf or a text. Use it for results worth looking at or keeping, such as "
            "charts and reports."
        ),
        input=AttachFile,
        run=attaching.attach,
        # Another copy does no harm.
        effect="idempotent",
        planning="run",
        traits=("shows_file",),
        reach="workspace",
    )


class Attaching:
    def __init__(self, workspaces: Workspaces, files: StoredFiles) -> None:
        self._workspaces = workspaces
        self._files = files

    async def attach(self, context: ToolContext, given: AttachFile) -> ToolAnswer:
        """The output is a file part: see the trait `shows_file`."""
        try:
            root = await self._workspaces.root_of(context)
            parts = root.parse(given.path)
            async with self._files.incoming() as incoming:
                await incoming.write(await blocking(lambda: _content(root, parts, incoming.most_bytes + 1)))
                file = await self._files.keep(incoming, context.owner_id, parts[-1])
            await self._files.use((file.id,), context.chat_id, context.fence)
        except HoldfastError as error:
            raise ToolError(error.text) from error
        return ToolAnswer(output=cast(Json, msgspec.to_builtins(file.part)))


def _content(root: Root, parts: Parts, most_bytes: int) -> bytes:
    with root.open() as tree, tree.place(parts) as place, open_file(place, parts) as descriptor:
        return read_up_to(descriptor, most_bytes)
