"""axe finds nothing in what is opened on the screens: files, diffs with colours, scripts, forms, menus,
pictures, found chats, an empty archive, a page that is not there."""

from collections.abc import Callable

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.e2e.axe import violations
from tests.e2e.conftest import PHONE, WIDE, Opens
from tests.e2e.guard import Guard
from tests.e2e.server import Person
from tests.e2e.test_asking import call
from tests.e2e.test_panels import open_panel
from tests.e2e.workspace import Workspace, make_workspace

CODE = '# notes\ndef greet(name: str) -> str:\n    """Says hello."""\n    return f"hello {name}" * 3\n'
EDIT = [{"path": "code.py", "old": '"hello {name}" * 3', "new": '"good day {name}" * 4'}]


def talk(person: Person, workspace: Workspace) -> str:
    work = f"{call('edit_files', edits=EDIT)}\n{call('attach_file', path='teal.png')}"
    chat = person.finished_chat(
        f"{work}\nsay: See [code](code.py).", workspace_id=workspace.id, title="Greets"
    )
    return chat["id"]


def file(page: Page, chat: str) -> None:
    page.goto(f"/chats/{chat}")
    page.get_by_role("button", name="code", exact=True).last.click()
    expect(page.get_by_role("dialog").locator(".hljs-keyword").first).to_be_visible()


def changes(page: Page, chat: str) -> None:
    panel = open_panel(page, chat, "Changes")
    expect(panel.locator(".hljs-keyword").first).to_be_visible()


def script(page: Page, chat: str) -> None:
    panel = open_panel(page, chat, "Workflow")
    panel.get_by_role("button", name="deep-research").click()
    panel.get_by_text("Script", exact=True).click()
    expect(panel.locator(".hljs-keyword").first).to_be_visible()


def span(page: Page, chat: str) -> None:
    panel = open_panel(page, chat, "Trace")
    panel.get_by_role("treeitem").nth(2).click()
    expect(panel.get_by_role("region", name="Span details")).to_be_visible()


def picture(page: Page, chat: str) -> None:
    page.goto(f"/chats/{chat}")
    page.get_by_test_id("call").last.get_by_role("button").first.click()
    page.get_by_role("button", name="Open teal.png").first.click()
    expect(page.get_by_role("dialog", name="teal.png")).to_be_visible()


def menu(page: Page, chat: str) -> None:
    page.goto(f"/chats/{chat}")
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_role("menu")).to_be_visible()


def form(section: str, name: str) -> Callable[[Page, str], None]:
    def show(page: Page, _: str) -> None:
        page.goto(f"/settings/{section}")
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("dialog", name=name)).to_be_visible()

    return show


def tools(page: Page, chat: str) -> None:
    form("agents", "Add an agent")(page, chat)
    page.get_by_label("Only the tools I choose").check()
    expect(page.get_by_role("checkbox").first).to_be_visible()


def chats(page: Page) -> None:
    expect(page.get_by_role("heading", name="What should the agent do?")).to_be_visible()
    if page.get_by_role("button", name="Show chats").count() > 0:
        page.get_by_role("button", name="Show chats").click()


def found(page: Page, _: str) -> None:
    page.goto("/")
    chats(page)
    page.get_by_role("textbox", name="Search titles").fill("Greets")
    expect(page.get_by_role("status").filter(has_text="1 chat found")).to_be_visible()


def archive(page: Page, _: str) -> None:
    page.goto("/")
    chats(page)
    page.get_by_role("button", name="Show archived chats").click()
    expect(page.get_by_text("No archived chats.")).to_be_visible()


def missing(page: Page, _: str) -> None:
    page.goto("/no/such/page")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    expect(page.get_by_role("link", name="Go to your chats")).to_be_visible()


STATES = {
    "file": file,
    "changes": changes,
    "script": script,
    "span": span,
    "picture": picture,
    "menu": menu,
    "tools": tools,
    "workspace form": form("workspaces", "Add a workspace"),
    "token form": form("tokens", "Create token"),
    "found": found,
    "archive": archive,
    "missing": missing,
}


@pytest.mark.parametrize(
    "size, theme", [(WIDE, "light"), (WIDE, "dark"), (PHONE, "dark")], ids=["light", "dark", "phone"]
)
def test_axe_finds_nothing_in_what_is_opened(
    opens: Opens, person: Person, guards: list[Guard], size: dict[str, int], theme: str
) -> None:
    workspace = make_workspace(person, {"code.py": CODE})
    Image.new("RGB", (40, 30), "teal").save(workspace.path / "teal.png")
    chat = talk(person, workspace)
    page = opens(person, size=size, theme=theme)
    guards[0].allow("404")
    wrong: list[str] = []
    for name, show in STATES.items():
        show(page, chat)
        # A menu floats above everything and is no part of a landmark.
        wrong += [f"{name}: {one}" for one in violations(page, "[role=menu]" if name == "menu" else None)]
    assert not wrong, "\n".join(wrong)


def test_an_exported_chat_is_a_page_to_send(opens: Opens, person: Person) -> None:
    """Our look in one file: rendered, foldable, with the colours of changes; nothing is loaded."""
    workspace = make_workspace(person, {"code.py": CODE})
    work = f"**Please** greet\n{call('edit_files', edits=EDIT)}\nsay: ## Done\n\n  All is well."
    chat = person.finished_chat(work, workspace_id=workspace.id, title="Greets")
    page = opens(person)
    page.goto(f"/chats/{chat['id']}")
    page.get_by_role("button", name="More", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name="Export as HTML").click()
    text = saved.value.path().read_text()
    page.goto("about:blank")
    page.set_content(text)
    expect(page.get_by_role("heading", name="Greets")).to_be_visible()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    expect(page.locator("strong", has_text="Please")).to_be_visible()
    folded = page.locator("details").filter(has_text="code.py").first
    expect(folded).to_be_visible()
    folded.locator("summary").first.click()
    expect(folded.get_by_text('"good day {name}" * 4')).to_be_visible()
    assert violations(page) == []
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
