"""Templates: what is asked for again and again does not fill the machine, and nothing of one that changed
meanwhile runs."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.clock import SystemClock
from holdfast.core.errors import WrongState
from holdfast.core.ids import RandomIds, UserId
from holdfast.tools.templates import git_templates
from holdfast.tools.templates.builds import MOST_AT_ONCE, BuildOrder, WorkspaceBuilds
from holdfast.tools.templates.definition import Template, TemplateProcess
from holdfast.tools.templates.git_templates import GitTemplates, git_address
from holdfast.tools.templates.set_up_commands import CommandEnd
from holdfast.tools.templates.template_tools import TemplateTools
from holdfast.workspaces.files.file_root import Root


class Fetching:
    async def run(self, _: object, place: Any, __: object, **___: object) -> CommandEnd:
        (place.root / "template.toml").write_text("")
        return CommandEnd(code=0, output="")


async def test_only_the_newest_of_what_was_fetched_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_templates, "MOST_KEPT", 3)
    commands: Any = Fetching()
    templates = GitTemplates(tmp_path, commands, SystemClock(), RandomIds())
    async with templates.fetched(git_address("https://example.com/used.git")) as used:
        for number in range(10):
            async with templates.fetched(git_address(f"https://example.com/{number}.git")) as tree:
                assert (tree.path / "template.toml").exists()
        # Whoever works with one still has it.
        assert (used.path / "template.toml").exists()
    assert len(list((tmp_path / "templates").iterdir())) == 3


class Changed:
    """A git address that has another content than the user trusted."""

    def __init__(self, path: Path) -> None:
        service = TemplateProcess(name="web", command="evil")
        self.template = Template(name="x", directory=Root(path), services=(service,))

    @asynccontextmanager
    async def opened(self, _: str) -> AsyncGenerator[Template]:
        yield self.template

    async def state_of(self, *_: object) -> str:
        return "changed"


async def test_services_of_a_template_that_changed_during_the_setup_do_not_start(tmp_path: Path) -> None:
    anything: Any = None
    catalogue: Any = Changed(tmp_path)
    tools: Any = TemplateTools(anything, catalogue, anything, anything, anything)
    made: Any = type("Made", (), {"path": str(tmp_path), "template": "x"})
    context: Any = type("Context", (), {"owner_id": "u"})
    (service,) = await tools._services(context, made)
    assert service.keys() == {"name", "error"}
    assert "changed" in service["error"]


class Standing:
    def require(self, _: str) -> None: ...


async def test_a_user_makes_so_many_workspaces_at_once(tmp_path: Path) -> None:
    anything: Any = Standing()
    catalogue: Any = Changed(tmp_path)
    builds: Any = WorkspaceBuilds(
        anything, anything, catalogue, anything, anything, SystemClock(), RandomIds()
    )
    order = BuildOrder(owner_id=UserId("u"), key="k", template="x", parameters={})
    builds._under_way[order.owner_id] = MOST_AT_ONCE
    with pytest.raises(WrongState, match="already"):
        await builds.check(order)
