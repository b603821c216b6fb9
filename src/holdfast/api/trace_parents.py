"""The span that a request is part of: what it starts becomes part of it too."""

from typing import Any

from litestar import Request
from msgspec.structs import replace

from holdfast.api.services import Services
from holdfast.chats.commands import Command, TurnCommand
from holdfast.core.trace_parents import HEADER, parsed


def trace_parent_of(services: Services, request: Request[Any, Any, Any]) -> str | None:
    """None: nobody exports traces, or the header is not there, twice, or not one."""
    if not services.traced:
        return None
    given = request.headers.getall(HEADER, [])
    found = parsed(given[0]) if len(given) == 1 else None
    return None if found is None else found.text


def within(services: Services, request: Request[Any, Any, Any], command: Command) -> Command:
    """The command, with the span that the request is part of."""
    if not services.traced or not isinstance(command, TurnCommand):
        return command
    return replace(command, trace_parent=trace_parent_of(services, request))
