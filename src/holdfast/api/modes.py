"""Modes: what an agent may do. The built-in ones, then those of the configuration."""

from typing import Literal

from litestar import Router, get

from holdfast.api.pages import Page
from holdfast.api.services import With, needs
from holdfast.core.shapes import Record
from holdfast.tools.modes import BUILT_IN, own_mode


class ModeShown(Record, frozen=True, kw_only=True):
    name: str
    # What may be called: everything, what changes nothing (with questions and sub-agents, or only reads), or
    # the named tools.
    allows: Literal["everything", "planning", "reading", "named"]
    tools: tuple[str, ...] = ()
    instructions: str = ""


@get("/modes", guards=[needs("chats:read")])
async def list_modes(services: With) -> Page[ModeShown]:
    """The modes that a chat or a named agent may have."""
    own = [
        own_mode(name, choice.tools, choice.instructions) for name, choice in services.config().modes.items()
    ]
    return Page(
        items=tuple(
            ModeShown(
                name=mode.name,
                allows=mode.allows,
                tools=tuple(sorted(mode.tools)),
                instructions=mode.instructions,
            )
            for mode in (*BUILT_IN.values(), *own)
        )
    )


router = Router("/", route_handlers=[list_modes], tags=["chats"])
