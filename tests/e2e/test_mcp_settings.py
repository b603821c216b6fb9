"""MCP servers and what a workspace wants to run, in Settings: added, tested, approved again, trusted."""

import json

from playwright.sync_api import Page, expect

from tests.e2e.server import Person
from tests.e2e.states import MCP_PROGRAM
from tests.e2e.workspace import make_workspace


def test_a_server_is_added_tested_and_approved_again_when_its_tools_change(
    page: Page, person: Person
) -> None:
    # It runs behind the wall, which shows it system directories and the workspace.
    workspace = make_workspace(person, {"server.py": MCP_PROGRAM.read_text()})
    page.goto("/settings/mcp")
    page.get_by_label("Include the servers of a workspace").select_option(label=workspace.path.name)
    page.get_by_role("button", name="Add a server").click()
    form = page.get_by_role("dialog", name="Add a server")
    form.get_by_label("Name", exact=True).fill("small")
    form.get_by_label("Program or address").fill("python3\nserver.py")
    form.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Test small").click()
    expect(page.get_by_text("It works and has 4 tools.")).to_be_visible()
    expect(page.get_by_text("running", exact=True)).to_be_visible()
    page.get_by_role("button", name="small", exact=True).click()
    expect(page.get_by_text("mcp__small__echo")).to_be_visible()

    # The same server says something else of its tools: what differs is off until a person approves it.
    page.get_by_role("button", name="Edit small").click()
    form = page.get_by_role("dialog", name="MCP server small")
    form.get_by_label("Program or address").fill("python3\nserver.py\nchanged")
    form.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Test small").click()
    expect(page.get_by_text("2 tools to approve")).to_be_visible()
    expect(page.get_by_text("Says it again, and sends it to somebody else.")).to_be_visible()
    page.get_by_role("button", name="Approve all").click()
    expect(page.get_by_text("2 tools to approve")).to_have_count(0)


def test_what_a_workspace_wants_to_run_is_read_and_trusted(page: Page, person: Person) -> None:
    servers = {"theirs": {"command": "python3", "args": ["server.py"]}}
    workspace = make_workspace(person, {".mcp.json": json.dumps({"mcpServers": servers})})
    page.goto("/settings/mcp")
    page.get_by_label("Include the servers of a workspace").select_option(label=workspace.path.name)
    expect(page.get_by_text("None yet. Add a program or an address.")).to_be_visible()
    page.goto("/settings/workspaces")
    page.get_by_role("button", name=f"Trust {workspace.path.name}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("server.py")
    expect(dialog.get_by_text("new", exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Trust this content").click()
    expect(dialog.get_by_text("trusted", exact=True)).to_be_visible()
    page.goto("/settings/mcp")
    page.get_by_label("Include the servers of a workspace").select_option(label=workspace.path.name)
    expect(page.get_by_role("button", name="theirs", exact=True)).to_be_visible()
