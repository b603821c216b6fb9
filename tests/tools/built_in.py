"""Every built-in tool, made without what it works with: to be looked at, not to be run."""

from typing import Any, cast

from holdfast.tools.commands import command_tools
from holdfast.tools.contract import Tool
from holdfast.tools.files import file_tools
from holdfast.tools.people import ASK_USER, PROPOSE_PLAN
from holdfast.tools.search import search_tools
from holdfast.tools.todo import TODO

_nothing = cast(Any, None)

BUILT_IN: tuple[Tool, ...] = (
    ASK_USER,
    PROPOSE_PLAN,
    TODO,
    *file_tools(_nothing, _nothing),
    *search_tools(_nothing, None),
    *command_tools(_nothing, _nothing, _nothing, _nothing),
)
