"""The application: every route in one list, behind the gate."""

from typing import Any

from litestar import Litestar, Router
from litestar.config.app import AppConfig
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import NotFoundException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin
from litestar.types import ASGIApp

from holdfast import __version__
from holdfast.accounts.audit_entries import Audit
from holdfast.api import (
    agents,
    approvals,
    calls,
    changes,
    chat_files,
    chats,
    context,
    debug,
    docs_site,
    export,
    feeds,
    files,
    flow_runs,
    flows,
    git,
    grants,
    health,
    hooks,
    imports,
    instructions,
    mcp_servers,
    mcp_use,
    messages,
    models,
    modes,
    page,
    providers,
    queue,
    reference,
    runs,
    session,
    settings,
    skills,
    templates,
    trace,
    trust,
    usage,
    users,
    workflows,
    workspace_agents,
    workspaces,
)
from holdfast.api.bodies import MAX_BODY_BYTES, JsonRequest
from holdfast.api.commands import earlier
from holdfast.api.denials import Denials
from holdfast.api.gate import Gate
from holdfast.api.openapi import Described, finished
from holdfast.api.problems import respond
from holdfast.api.request_checks import first, known_query, options
from holdfast.api.services import Services, provide_caller, provide_services
from holdfast.store.idempotency_keys import Repeated

ROUTERS = (
    chats.router,
    chat_files.router,
    messages.router,
    queue.router,
    calls.router,
    changes.router,
    approvals.router,
    feeds.router,
    trace.router,
    context.router,
    instructions.router,
    debug.router,
    usage.router,
    export.router,
    imports.router,
    models.router,
    modes.router,
    workspaces.router,
    git.router,
    workspace_agents.router,
    trust.router,
    templates.router,
    mcp_servers.router,
    mcp_use.router,
    hooks.router,
    skills.router,
    files.router,
    grants.router,
    agents.router,
    workflows.router,
    runs.router,
    flows.router,
    flow_runs.router,
    providers.router,
    session.router,
    users.router,
    settings.router,
    health.router,
)

DESCRIPTION = OpenAPIConfig(
    title="Holdfast",
    version=__version__,
    description="Agents that run durably.",
    create_examples=False,
    use_handler_docstrings=True,
    operation_id_creator=lambda handler, _method, _path: handler.handler_name,
    render_plugins=[JsonRenderPlugin()],
)

# Not a single address, but all that the machine has.
EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - compared, not bound


def create_app(services: Services) -> ASGIApp:
    return gated(litestar_app(services), services)


def gated(app: Litestar, services: Services) -> ASGIApp:
    audit = Audit(services.store, services.clock, services.ids)
    denials = Denials(audit, services.clock)
    server = services.config().server
    # The address it listens on is one of its own names: no other site can have it.
    own = () if server.host in EVERYWHERE else (server.host,)
    return Gate(app, services.access, denials, (*own, *server.hosts), services.ready)


def litestar_app(services: Services | None) -> Litestar:
    """Without services it can be described, but not called."""
    return App(
        route_handlers=[
            Router("/api/v1", route_handlers=list(ROUTERS), before_request=first, guards=[known_query]),
            health.open_router,
            reference.router,
            docs_site.router,
            page.router,
        ],
        state=State({"services": services, "described": Described(document)}),
        dependencies={
            "services": Provide(provide_services, sync_to_thread=False),
            "caller": Provide(provide_caller, sync_to_thread=False),
        },
        exception_handlers={Exception: respond, NotFoundException: page.nowhere, Repeated: earlier},
        before_request=options,
        request_class=JsonRequest,
        request_max_body_size=MAX_BODY_BYTES,
        # A serving application is described by another one: that takes time and memory, and few ask.
        openapi_config=None if services is not None else DESCRIPTION,
        on_app_init=[_quiet],
    )


class App(Litestar):
    """Without the plugins for libraries that we do not use: importing them takes as long as everything else
    here."""

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:  # pyright: ignore[reportImplicitOverride]
        return [*plugins, MsgspecDIPlugin()]


def _quiet(config: AppConfig) -> AppConfig:
    """Errors are logged by `problems`, once."""
    config.logging_config = None
    return config


def document() -> dict[str, Any]:
    """The OpenAPI document, as served at /api/openapi.json."""
    return finished(litestar_app(None).openapi_schema.to_schema())
