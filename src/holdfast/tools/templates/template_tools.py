"""`list_templates`, `read_template` and `create_workspace`: an agent starts a new project from a template. A
call makes one workspace, however often it is run; calls of one step make one together."""

import asyncio
import os
from pathlib import Path
from typing import Annotated, Any, Protocol
from weakref import WeakValueDictionary

from msgspec import Meta

from holdfast.core.errors import CannotRun, HoldfastError, TryAgain
from holdfast.core.ids import ChatId
from holdfast.core.shapes import Json
from holdfast.core.templates import WorkspaceBuild
from holdfast.core.text import one_line
from holdfast.store import templates, workspaces
from holdfast.store.interface import Store
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.templates.builds import BuildOrder, WorkspaceBuilds
from holdfast.tools.templates.catalogue import TemplateCatalogue
from holdfast.tools.templates.definition import Template, TemplateProcess
from holdfast.tools.templates.set_up_commands import SetUpCommands
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.paths import shown_path

_FILES_SHOWN = 200


class DraftOf(Protocol):
    """The part of `Workspaces` that matters here."""

    async def draft_of(self, where: ToolContext, /) -> ChatId | None: ...


TemplateWord = Annotated[
    str,
    Meta(
        description="The name of a template as list_templates shows it, or the https address of a git "
        "repository with a template.toml (after #: a branch, tag or commit).",
        examples=["python-service"],
        min_length=1,
        max_length=2000,
    ),
]


class ListTemplates(Input, frozen=True, kw_only=True):
    pass


class ReadTemplate(Input, frozen=True, kw_only=True):
    template: TemplateWord


class NewWorkspace(Input, frozen=True, kw_only=True):
    template: TemplateWord
    name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=100)] | None,
        Meta(
            description="The name of the new workspace, and of its directory. Default: the template's name.",
            examples=["billing"],
        ),
    ] = None
    parameters: Annotated[
        dict[str, Any],
        Meta(description="What the template asks for: see read_template.", examples=[{"port": 8080}]),
    ] = {}  # noqa: RUF012 - msgspec copies it


def template_tools(
    store: Store,
    catalogue: TemplateCatalogue,
    builds: WorkspaceBuilds,
    commands: SetUpCommands,
    drafts: DraftOf,
) -> tuple[Tool, ...]:
    tools = TemplateTools(store, catalogue, builds, commands, drafts)
    return (
        Tool(
            name="list_templates",
            description="List the templates that a new workspace can be made from.",
            input=ListTemplates,
            run=tools.every,
            effect="read",
            timeout_seconds=300.0,
        ),
        Tool(
            name="read_template",
            description="Read a template: its parameters as a JSON Schema, what it runs, and its files.",
            input=ReadTemplate,
            run=tools.read,
            effect="read",
            timeout_seconds=300.0,
        ),
        Tool(
            name="create_workspace",
            description=(
                "Make a new workspace from a template and go on working there: its files are copied and its "
                "setup is run, which may take minutes. Later calls of this turn work in the new workspace. "
                "Only for a project that does not exist yet."
            ),
            input=NewWorkspace,
            run=tools.create,
            effect="idempotent",
            reach="outside",
            traits=("moves_chat",),
            timeout_seconds=None,
        ),
    )


class TemplateTools:
    def __init__(
        self,
        store: Store,
        catalogue: TemplateCatalogue,
        builds: WorkspaceBuilds,
        commands: SetUpCommands,
        drafts: DraftOf,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._builds = builds
        self._commands = commands
        self._drafts = drafts
        self._making: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()

    async def every(self, _: ToolContext, __: ListTemplates) -> ToolAnswer:
        found = await self._catalogue.all()
        usable: list[Json] = [_in_short(one) for one in found if one.error is None]
        output: dict[str, Json] = {"templates": usable}
        if bad := [{"name": one.name, "error": one.error} for one in found if one.error is not None]:
            output["cannot_be_used"] = [*bad]
        return ToolAnswer(output=output)

    async def read(self, context: ToolContext, asked: ReadTemplate) -> ToolAnswer:
        try:
            async with self._catalogue.opened(asked.template) as template:
                state = await self._catalogue.state_of(template, context.owner_id)
                files = await blocking(lambda: files_of(template.directory))
        except HoldfastError as error:
            raise ToolError(error.text) from error
        services: list[Json] = [{"name": one.name, "command": one.command} for one in template.services]
        output: dict[str, Json] = {
            **_in_short(template),
            "parameters": template.schema,
            "setup": template.setup,
            "check": template.check,
            "services": services,
            "files": [*files],
        }
        if template.runs_something and state != "trusted":
            output["note"] = (
                "The user has not trusted this content yet: until they do (Settings, Templates, or "
                "`holdfast workspace new`) no workspace can be made from it."
            )
        return ToolAnswer(output=output)

    async def create(self, context: ToolContext, asked: NewWorkspace) -> ToolAnswer:
        # Calls of one step one after the other, so that the second finds what the first made.
        async with self._making.setdefault(context.chat_id, asyncio.Lock()):
            try:
                return await self._create(context, asked)
            except TryAgain:
                raise
            except HoldfastError as error:
                raise ToolError(error.text) from error

    async def _create(self, context: ToolContext, asked: NewWorkspace) -> ToolAnswer:
        if await self._drafts.draft_of(context) is not None:
            raise ToolError(
                "The changes of this chat wait for review in a draft of its workspace, so it cannot move to "
                "another one. Ask the user to start a new chat for this."
            )
        earlier = await self._store.read(templates.of_same_step(context.chat_id, context.call_id))
        if earlier is not None:
            return await self._same_step(context, asked, earlier)
        order = BuildOrder(
            owner_id=context.owner_id,
            key=context.key,
            template=asked.template,
            name=asked.name,
            parameters=asked.parameters,
            chat_id=context.chat_id,
            call_id=context.call_id,
            fence=context.fence,
            still_ours=context.still_ours,
        )
        made = await self._builds.make(order)
        return await self._moved(context, made, await self._services(context, made))

    async def _same_step(self, context: ToolContext, asked: NewWorkspace, made: WorkspaceBuild) -> ToolAnswer:
        if (asked.template, asked.name, asked.parameters) != (made.template, made.name, made.parameters):
            raise ToolError(
                "A workspace was made in this step already, and a chat works in one. If you need another one "
                "too, make it in a step of its own."
            )
        return await self._moved(context, made, [], "Made by another call of this step; it is the same one.")

    async def _moved(
        self, context: ToolContext, made: WorkspaceBuild, services: list[Json], note: str = ""
    ) -> ToolAnswer:
        """The chat works there from now on."""
        assert made.workspace_id is not None
        found = await self._store.read(workspaces.workspace(made.workspace_id, context.owner_id))
        if found is None:
            raise ToolError("The workspace that this call made was removed meanwhile.")
        if not context.still_ours():
            raise ToolError("The call was given up, or another server runs the chat now.")
        await self._store.update_settings(context.chat_id, workspace_id=found.id)
        output: dict[str, Json] = {"workspace_id": found.id, "name": found.name, "path": found.path}
        if services:
            output["services"] = services
        output["note"] = note or "Your calls work in this workspace from now on."
        return ToolAnswer(output=output)

    async def _services(self, context: ToolContext, made: WorkspaceBuild) -> list[Json]:
        """Started in the background; what does not start is told, and the workspace is there all the same."""
        assert made.path is not None
        place = CommandPlace(root=Path(made.path))
        async with self._catalogue.opened(made.template) as template:
            services = template.services
            state = await self._catalogue.state_of(template, context.owner_id)
        if services and state != "trusted":
            # Setup may take long, and what is at the address may be another one by now.
            said = "The template was changed meanwhile, and the user has not trusted that: not started."
            return [{"name": one.name, "error": said} for one in services]
        return [await self._service(context, place, one) for one in services]

    async def _service(self, context: ToolContext, place: CommandPlace, service: TemplateProcess) -> Json:
        try:
            entry = await self._commands.background(
                context.chat_id, place, service.command, context.still_ours
            )
        except CannotRun as error:
            return {"name": service.name, "error": one_line(error.text, 300)}
        return {"name": service.name, "process_id": entry.id}


def files_of(directory: Root) -> list[str]:
    """The first of them, by path."""
    found: list[str] = []
    with directory.open() as tree:
        for top, names, files, _ in os.fwalk(".", dir_fd=tree.root, follow_symlinks=False):
            names[:] = sorted(name for name in names if name != ".git")
            for name in sorted(files):
                found.append(shown_path(tuple(part for part in (*top.split("/"), name) if part != ".")))
                if len(found) >= _FILES_SHOWN:
                    return [*found, "..."]
    return found


def _in_short(template: Template) -> dict[str, Json]:
    short: dict[str, Json] = {"name": template.name, "description": template.description}
    if template.address is not None:
        short["address"] = template.address
    return short
