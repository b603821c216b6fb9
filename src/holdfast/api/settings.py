"""Settings of users for themselves, and of admins for everybody: values by key."""

import re
from typing import Any

from litestar import Response, Router, get, patch, post
from litestar.params import JSONBody

from holdfast.accounts.audit_entries import Audit
from holdfast.api.bodies import JsonRequest, checked_json
from holdfast.api.commands import write
from holdfast.api.problems import BODY, Problem, invalid
from holdfast.api.services import By, Services, With, needs
from holdfast.core.shapes import Json, Record
from holdfast.store import audit, preferences
from holdfast.store.audit import audited
from holdfast.store.query import joined

_KEY = re.compile(r"[a-z][a-z0-9_.]{0,99}")
MAX_VALUE_BYTES = 64 * 1024
MAX_KEYS = 200


class SettingsShown(Record, frozen=True, kw_only=True):
    """`user`: the caller's own. `server`: for everybody, changed by admins."""

    user: dict[str, Json]
    server: dict[str, Json]
    demo: bool
    # The largest file that can be uploaded, and where workspaces may be.
    file_max_bytes: int
    workspace_roots: tuple[str, ...]


class Reloaded(Record, frozen=True, kw_only=True):
    """Keys whose change needs a restart."""

    needs_restart: tuple[str, ...]


@get("/settings", guards=[needs("chats:read")])
async def read_settings(services: With, caller: By) -> SettingsShown:
    """The caller's own settings, and those for everybody."""
    user, server = await services.store.read(
        preferences.preferences(caller.user.id), preferences.preferences(None)
    )
    return _shown(services, user, server)


@patch("/settings", guards=[needs("chats:write")])
async def change_settings(
    request: JsonRequest, data: JSONBody[dict[str, Any]], services: With, caller: By
) -> Response[SettingsShown]:
    """Set the caller's own settings, all or none; null removes one."""
    change = joined(
        preferences.choose(caller.user.id, _checked(data), most=MAX_KEYS),
        preferences.preferences(None),
        read=lambda user, server: _shown(services, user, server),
    )
    return await write(services, caller, request, change, answer=lambda shown: (200, shown))


@patch("/settings/server", guards=[needs("admin")])
async def change_server_settings(
    request: JsonRequest, data: JSONBody[dict[str, Any]], services: With, caller: By
) -> Response[SettingsShown]:
    """Set settings for everybody."""
    choose = preferences.choose(None, _checked(data), most=MAX_KEYS)
    entry = _audit(services).entry(caller, "settings.change", keys=" ".join(data))
    change = joined(
        audited(choose, entry),
        preferences.preferences(caller.user.id),
        read=lambda server, user: _shown(services, user, server),
    )
    return await write(services, caller, request, change, answer=lambda shown: (200, shown))


@post("/settings/reload", guards=[needs("admin")], status_code=200)
async def reload_configuration(request: JsonRequest, services: With, caller: By) -> Response[Reloaded]:
    """Reload providers, models and the other reloadable keys, as SIGHUP does."""
    reloaded = Reloaded(needs_restart=await services.reload())
    entry = audit.add(_audit(services).entry(caller, "settings.reload"))
    return await write(services, caller, request, entry, answer=lambda _: (200, reloaded))


def _shown(services: Services, user: dict[str, Json], server: dict[str, Json]) -> SettingsShown:
    config = services.config()
    return SettingsShown(
        user=user,
        server=server,
        demo=services.providers.setup.is_demo,
        file_max_bytes=config.files.max_mib * 2**20,
        workspace_roots=tuple(str(root) for root in config.workspaces.roots),
    )


def _audit(services: Services) -> Audit:
    return Audit(services.store, services.clock, services.ids)


def _checked(chosen: dict[str, Any]) -> dict[str, Json]:
    if len(chosen) > MAX_KEYS:
        raise Problem("too_large", f"At most {MAX_KEYS} keys at once.")
    for key, value in chosen.items():
        if _KEY.fullmatch(key) is None:
            raise invalid(key[:100] or BODY, "a key is a small letter, then letters, digits, . and _")
        checked_json(key, value, most_bytes=MAX_VALUE_BYTES)
    return chosen


router = Router(
    "/",
    route_handlers=[read_settings, change_settings, change_server_settings, reload_configuration],
    tags=["settings"],
)
