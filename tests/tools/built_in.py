"""Every built-in tool, made without what it works with: to be looked at, not to be run."""

from types import SimpleNamespace
from typing import Any, cast

from holdfast.scripts.runs.tool import workflow_tool
from holdfast.tools.built_in import built_in
from holdfast.tools.contract import Tool
from holdfast.tools.templates.template_tools import template_tools
from holdfast.tools.web.web_tools import WebSettings

_nothing = cast(Any, None)

_family = cast(Any, SimpleNamespace(store=None))

BUILT_IN: tuple[Tool, ...] = (
    *built_in(
        workspaces=_nothing,
        walled=_nothing,
        seen=_nothing,
        processes=_nothing,
        limits=_nothing,
        family=_family,
        files=_nothing,
        code=_nothing,
        web=lambda: WebSettings(search="searxng"),
        documents=_nothing,
        store=_nothing,
        ids=_nothing,
        clock=_nothing,
        ripgrep=None,
    ),
    workflow_tool(_nothing, _family),
    *template_tools(_nothing, _nothing, _nothing, _nothing, _nothing),
)
