"""Templates of workspaces, and workspaces that are made from them in the background."""

from typing import Annotated

from litestar import Response, Router, get, post
from litestar.params import JSONBody, QueryParameter
from msgspec import Meta

from holdfast.accounts.audit_entries import Audit
from holdfast.api.bodies import JsonRequest
from holdfast.api.calls import may_answer
from holdfast.api.commands import write
from holdfast.api.pages import Page
from holdfast.api.problems import invalid, not_found
from holdfast.api.services import By, InPath, Services, With, needs, own_chat
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import ChatId, UserId, WorkspaceId, is_uuid7
from holdfast.core.shapes import Border, Json, Record
from holdfast.core.templates import BuildId, BuildState, WorkspaceBuild
from holdfast.core.trust import Decision, TrustState
from holdfast.store import templates
from holdfast.store.audit import audited
from holdfast.tools.templates.builds import BuildOrder
from holdfast.tools.templates.definition import Template, TemplateProcess
from holdfast.tools.templates.template_tools import files_of
from holdfast.workspaces.blocking import blocking

_NEWEST = 50
Word = Annotated[str, Meta(min_length=1, max_length=2000)]


class TemplateShown(Record, frozen=True, kw_only=True):
    """`parameters` is a JSON Schema. One at a git address has a `hash` of all its files: what it runs counts
    once the caller trusts exactly these (`state`). `error`: why it cannot be used."""

    name: str
    description: str
    parameters: dict[str, Json]
    setup: str
    check: str
    services: tuple[TemplateProcess, ...]
    address: str | None
    hash: str | None
    state: TrustState
    error: str | None


class TemplateDetails(TemplateShown, frozen=True, kw_only=True):
    # The first of its files.
    files: tuple[str, ...]


class DecideTemplate(Border, frozen=True, kw_only=True):
    template: Word
    # The hash of the content that was read: a later change is not trusted.
    hash: Annotated[str, Meta(min_length=64, max_length=64)]
    decision: Decision


class BuildWorkspace(Border, frozen=True, kw_only=True):
    template: Word
    # Also that of its directory. Default: the template's.
    name: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    parameters: Annotated[dict[str, Json], Meta(max_length=200)] = {}  # noqa: RUF012 - msgspec copies it


class WorkspaceBuildShown(Record, frozen=True, kw_only=True):
    """`output`: the end of what its commands have printed so far, while it is made by this server."""

    id: BuildId
    template: str
    name: str | None
    state: BuildState
    path: str | None
    workspace_id: WorkspaceId | None
    chat_id: ChatId | None
    error: str | None
    output: str | None


@get("/templates", guards=[needs("chats:read")])
async def list_templates(services: With, caller: By) -> Page[TemplateShown]:
    """The templates of the configuration, by name."""
    found = await services.templates.all()
    return Page(items=tuple([await _shown(services, one, caller.user.id) for one in found]))


@get("/templates/one", guards=[needs("chats:read")])
async def read_template(
    services: With,
    caller: By,
    template: Annotated[
        str, QueryParameter(min_length=1, max_length=2000, description="Its name, or a git address.")
    ],
) -> TemplateDetails:
    """One template, with its files. One at a git address is fetched."""
    async with services.templates.opened(template) as found:
        files = await blocking(lambda: files_of(found.directory))
        shown = await _shown(services, found, caller.user.id)
    return TemplateDetails(
        **{name: getattr(shown, name) for name in shown.__struct_fields__}, files=tuple(files)
    )


@post("/templates/trust", guards=[needs("chats:write")], status_code=204)
async def trust_template(
    request: JsonRequest, data: JSONBody[DecideTemplate], services: With, caller: By
) -> Response[None]:
    """Trust or refuse what a template at a git address runs: exactly this content, only for the caller."""
    may_answer(caller)
    decide, template = await services.templates.decide(
        data.template, data.hash, data.decision, caller.user.id
    )
    entry = Audit(services.store, services.clock, services.ids).entry(
        caller, f"template.{data.decision}", f"template:{template.name}", address=template.address
    )
    return await write(services, caller, request, audited(decide, entry), answer=lambda _: (204, None))


@post("/workspace-builds", guards=[needs("chats:write")], status_code=202)
async def build_workspace(
    request: JsonRequest, data: JSONBody[BuildWorkspace], services: With, caller: By
) -> Response[WorkspaceBuildShown]:
    """Make a workspace from a template. It goes on in the background: read the build until it is `ready` or
    `failed`."""
    may_answer(caller)
    order = BuildOrder(
        owner_id=caller.user.id,
        key=services.ids.token(),
        template=data.template,
        name=data.name,
        parameters=data.parameters,
    )
    try:
        await services.builds.check(order)
    except InvalidInput as error:
        raise invalid(error.field or "template", error.text) from None
    new = services.builds.planned(order)
    entry = Audit(services.store, services.clock, services.ids).entry(
        caller, "workspace.build", f"workspace_build:{new.id}", template=data.template
    )
    answer = await write(
        services,
        caller,
        request,
        audited(templates.begin(new), entry),
        answer=lambda made: (202, _build_shown(made, None)),
    )
    # Under a key that was used before there is no new one.
    if await services.store.read(templates.is_building(new.id)):
        services.builds.start(new, order)
    return answer


@get("/workspace-builds", guards=[needs("chats:read")])
async def list_workspace_builds(
    services: With,
    caller: By,
    chat_id: Annotated[str | None, QueryParameter(description="Only those of this chat's calls.")] = None,
) -> Page[WorkspaceBuildShown]:
    """The caller's newest ones, the last first."""
    chat = None if chat_id is None else (await own_chat(services, caller, chat_id)).id
    found = await services.store.read(templates.newest(caller.user.id, chat, _NEWEST))
    return Page(items=tuple([_build_shown(one, await services.builds.output(one.id)) for one in found]))


@get("/workspace-builds/{build_id:str}", guards=[needs("chats:read")])
async def read_workspace_build(build_id: InPath, services: With, caller: By) -> WorkspaceBuildShown:
    """How far it is, with the end of what its commands print."""
    found = (
        await services.store.read(templates.build(BuildId(build_id), caller.user.id))
        if is_uuid7(build_id)
        else None
    )
    if found is None:
        raise not_found("workspace build")
    return _build_shown(found, await services.builds.output(found.id))


async def _shown(services: Services, template: Template, user_id: UserId) -> TemplateShown:
    return TemplateShown(
        name=template.name,
        description=template.description,
        parameters=template.schema,
        setup=template.setup,
        check=template.check,
        services=template.services,
        address=template.address,
        hash=template.hash,
        state=await services.templates.state_of(template, user_id),
        error=template.error,
    )


def _build_shown(build: WorkspaceBuild, output: str | None) -> WorkspaceBuildShown:
    return WorkspaceBuildShown(
        id=build.id,
        template=build.template,
        name=build.name,
        state=build.state,
        path=build.path,
        workspace_id=build.workspace_id,
        chat_id=build.chat_id,
        error=build.error,
        output=output,
    )


router = Router(
    "/",
    route_handlers=[
        list_templates,
        read_template,
        trust_template,
        build_workspace,
        list_workspace_builds,
        read_workspace_build,
    ],
    tags=["workspaces"],
)
