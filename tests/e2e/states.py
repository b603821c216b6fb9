"""What is opened on the screens: files, diffs with colours, scripts, forms, menus, pictures, found chats, an
empty archive, a page that is not there, changes to review, a flow's graph. For axe to judge, for pictures."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.e2e.outside import bring_templates, guarded_workspace
from tests.e2e.provider import asked_over_http
from tests.e2e.server import Person
from tests.e2e.test_asking import call
from tests.e2e.test_panels import open_panel
from tests.e2e.workspace import make_workspace

MCP_PROGRAM = Path(__file__).parents[1] / "mcp" / "small_server.py"
CODE = '# notes\ndef greet(name: str) -> str:\n    """Says hello."""\n    return f"hello {name}" * 3\n'
EDIT = [{"path": "code.py", "old": '"hello {name}" * 3', "new": '"good day {name}" * 4'}]
FLOW = """\
name: greet
description: Greets, if somebody approves
steps:
  - {id: hello, kind: agent, title: Say hello, prompt: "say: Hello"}
  - {id: way, kind: switch, deps: [hello], cases: [{label: ok, when: "true", steps: [ok]}], default: [rude]}
  - {id: rude, kind: agent, deps: [way], prompt: never}
  - {id: ok, kind: approval, title: Send it?, deps: [way], text: "Send it?"}
"""
# Longer than its box, which has to be scrolled by keys too.
SERVERS = {f"server-{number}": {"command": "server", "args": [str(number)]} for number in range(12)}


@dataclass(frozen=True)
class Opened:
    """The chats of a person in a workspace."""

    done: str
    review: str
    workspace: str
    # With the hooks of a repository.
    guarded: str
    # With a debug record.
    recorded: str


def prepared(person: Person) -> Opened:
    workspace = make_workspace(
        person,
        {
            "code.py": CODE,
            ".holdfast/flows/greet.yaml": FLOW,
            ".mcp.json": json.dumps({"mcpServers": SERVERS}, indent=2),
        },
    )
    Image.new("RGB", (40, 30), "teal").save(workspace.path / "teal.png")
    edit = call("edit_files", edits=EDIT)
    work = f"{edit}\n{call('attach_file', path='teal.png')}\nsay: See [code](code.py)."
    review = person.finished_chat(
        f"{edit}\nsay: Please review.", workspace_id=workspace.id, title="Waits", writes="review"
    )
    done = person.finished_chat(work, workspace_id=workspace.id, title="Greets")
    person.post(
        "mcp-servers", {"name": "small", "command": "python3", "args": ["server.py"], "shared": False}
    )
    bring_templates(person.server)
    guarded = guarded_workspace(person)
    with asked_over_http(person) as model:
        refused = f"{call('write_file', path='secret.txt', content='x')}\nsay: I may not write this file."
        recorded = person.finished_chat(
            refused, workspace_id=guarded.id, model=model, debug=True, title="Writes a secret"
        )
    return Opened(
        done=done["id"],
        review=review["id"],
        workspace=workspace.path.name,
        guarded=guarded.path.name,
        recorded=recorded["id"],
    )


Opens = Callable[[Page, Opened], None]


def _file(page: Page, opened: Opened) -> None:
    page.goto(f"/chats/{opened.done}")
    page.get_by_role("button", name="code", exact=True).last.click()
    expect(page.get_by_role("dialog").locator(".hljs-keyword").first).to_be_visible()


def _changes(page: Page, opened: Opened) -> None:
    panel = open_panel(page, opened.done, "Changes")
    expect(panel.locator(".hljs-keyword").first).to_be_visible()


def _review(page: Page, opened: Opened) -> None:
    panel = open_panel(page, opened.review, "Changes")
    expect(panel).to_contain_text("1 change waits for your review")
    expect(panel.get_by_role("button", name="Apply code.py")).to_be_visible()


def _flow(page: Page, opened: Opened) -> None:
    panel = open_panel(page, opened.done, "Flows")
    panel.get_by_role("button", name=re.compile("^greet")).click()
    expect(panel.get_by_test_id("flow-graph")).to_contain_text("Say hello")


def _script(page: Page, opened: Opened) -> None:
    panel = open_panel(page, opened.done, "Workflow")
    panel.get_by_role("button", name="deep-research").click()
    panel.get_by_text("Script", exact=True).click()
    expect(panel.locator(".hljs-keyword").first).to_be_visible()


def _span(page: Page, opened: Opened) -> None:
    panel = open_panel(page, opened.done, "Trace")
    panel.get_by_role("treeitem").nth(2).click()
    expect(panel.get_by_role("region", name="Span details")).to_be_visible()


def _picture(page: Page, opened: Opened) -> None:
    page.goto(f"/chats/{opened.done}")
    page.get_by_test_id("call").last.get_by_role("button").first.click()
    page.get_by_role("button", name="Open teal.png").first.click()
    expect(page.get_by_role("dialog", name="teal.png")).to_be_visible()


def _menu(page: Page, opened: Opened) -> None:
    page.goto(f"/chats/{opened.done}")
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_role("menu")).to_be_visible()


def _form(section: str, name: str) -> Opens:
    def show(page: Page, _: Opened) -> None:
        page.goto(f"/settings/{section}")
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("dialog", name=name)).to_be_visible()

    return show


def _tools(page: Page, opened: Opened) -> None:
    _form("agents", "Add an agent")(page, opened)
    page.get_by_label("Only the tools I choose").check()
    expect(page.get_by_role("checkbox").first).to_be_visible()


def _mcp(page: Page, _: Opened) -> None:
    page.goto("/settings/mcp")
    page.get_by_role("button", name="small", exact=True).click()
    expect(page.get_by_text("not started")).to_be_visible()


def _trust(page: Page, opened: Opened) -> None:
    page.goto("/settings/workspaces")
    page.get_by_role("button", name=f"Trust {opened.workspace}").click()
    expect(page.get_by_role("dialog").get_by_text(".mcp.json")).to_be_visible()


def _recorded(page: Page, opened: Opened) -> Locator:
    panel = open_panel(page, opened.recorded, "Debug")
    expect(panel.get_by_role("button", name=re.compile("^Turn 1.*completed"))).to_be_visible()
    return panel


def _record(page: Page, opened: Opened) -> None:
    _recorded(page, opened)


def _no_record(page: Page, opened: Opened) -> None:
    panel = open_panel(page, opened.done, "Debug")
    expect(panel.get_by_text("Nothing recorded")).to_be_visible()


def _request(page: Page, opened: Opened) -> None:
    """The second step, which has one before it, and its request."""
    panel = _recorded(page, opened)
    panel.get_by_role("button", name=re.compile("^Turn 1")).click()
    panel.get_by_text("Step 2", exact=True).click()
    expect(panel.get_by_role("heading", name="Request, changed since the step before")).to_be_visible()
    panel.get_by_text("Attempt 1", exact=True).last.click()
    expect(panel.get_by_role("heading", name="Request headers")).to_be_visible()


def _context(page: Page, opened: Opened) -> None:
    page.goto(f"/chats/{opened.done}")
    page.get_by_role("button", name=re.compile("^Context")).click()
    expect(page.get_by_role("dialog").get_by_role("listitem").first).to_be_visible()


def _hooks(page: Page, opened: Opened) -> None:
    page.goto("/settings/hooks")
    page.get_by_label("Include the hooks of a workspace").select_option(label=opened.guarded)
    page.get_by_role("button", name="pre_tool sh").click()
    expect(page.get_by_text("This file is not for agents.").first).to_be_visible()


def _no_hooks(page: Page, _: Opened) -> None:
    page.goto("/settings/hooks")
    expect(page.get_by_text("None yet. Choose a workspace to see its own.")).to_be_visible()


def _templates(page: Page, _: Opened) -> None:
    page.goto("/settings/templates")
    expect(page.get_by_text("A small HTTP service in Python, with tests.")).to_be_visible()


def _template(page: Page, opened: Opened) -> None:
    _templates(page, opened)
    page.get_by_role("button", name="Read python-service").click()
    expect(page.get_by_role("dialog")).to_contain_text("test -s TITLE")


def _template_form(page: Page, _: Opened) -> None:
    """From the composer, where it is most wanted."""
    page.goto("/")
    page.get_by_role("button", name=re.compile("^Workspace: ")).click()
    page.get_by_role("menuitem", name="New from a template…").click()
    form = page.get_by_role("dialog", name="New workspace from a template")
    form.get_by_label("Template", exact=True).select_option("python-service")
    expect(form.get_by_label("title")).to_be_visible()


def _chats(page: Page) -> None:
    expect(page.get_by_role("heading", name="What should the agent do?")).to_be_visible()
    if page.get_by_role("button", name="Show chats").count() > 0:
        page.get_by_role("button", name="Show chats").click()


def _found(page: Page, _: Opened) -> None:
    page.goto("/")
    _chats(page)
    page.get_by_role("textbox", name="Search titles").fill("Greets")
    expect(page.get_by_role("status").filter(has_text="1 chat found")).to_be_visible()


def _archive(page: Page, _: Opened) -> None:
    page.goto("/")
    _chats(page)
    page.get_by_role("button", name="Show archived chats").click()
    expect(page.get_by_text("No archived chats.")).to_be_visible()


def _missing(page: Page, _: Opened) -> None:
    page.goto("/no/such/page")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    expect(page.get_by_role("link", name="Go to your chats")).to_be_visible()


STATES: dict[str, Opens] = {
    "file": _file,
    "changed lines": _changes,
    "review": _review,
    "flow": _flow,
    "script": _script,
    "span": _span,
    "picture": _picture,
    "menu": _menu,
    "tools": _tools,
    "workspace form": _form("workspaces", "Add a workspace"),
    "token form": _form("tokens", "Create token"),
    "MCP servers": _mcp,
    "MCP form": _form("mcp", "Add a server"),
    "trust": _trust,
    "record": _record,
    "no record": _no_record,
    "request": _request,
    "context": _context,
    "hooks": _hooks,
    "no hooks": _no_hooks,
    "templates": _templates,
    "template": _template,
    "template form": _template_form,
    "found": _found,
    "archive": _archive,
    "missing": _missing,
}
