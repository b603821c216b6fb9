"""Every built-in tool, made without what it works with: to be looked at, not to be run."""

from types import SimpleNamespace
from typing import Any, cast

from holdfast.tools.built_in import built_in
from holdfast.tools.contract import Tool

_nothing = cast(Any, None)

BUILT_IN: tuple[Tool, ...] = built_in(
    workspaces=_nothing,
    seen=_nothing,
    processes=_nothing,
    limits=_nothing,
    family=cast(Any, SimpleNamespace(store=None)),
    clock=_nothing,
    ripgrep=None,
)
