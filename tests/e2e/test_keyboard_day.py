"""A whole day without a mouse: from the first message to the merged change. Nothing here clicks or focuses by
script: every place is reached by keys alone."""

import subprocess

from playwright.sync_api import Page, expect

from tests.e2e.conversing import answers, asks, box
from tests.e2e.guard import Guard
from tests.e2e.server import Person
from tests.e2e.test_asking import call
from tests.e2e.workspace import AUTHOR, make_workspace

MERGE = f"git {' '.join(AUTHOR)} commit -qam done && git checkout -q main && git merge -q topic"
EDIT = [{"path": "notes.md", "old": "two\n", "new": "2\n"}]
MOST_TABS = 80


def tab_to(page: Page, name: str) -> None:
    """Presses Tab until what has the focus is called so, as somebody does who cannot see the order."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if name in page.evaluate(
            "(document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent ?? '')"
        ):
            return
    raise AssertionError(f"{name} is not reached by Tab")


def chosen(page: Page, words: str) -> None:
    """An action by the palette."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Command palette").get_by_role("combobox")).to_be_focused()
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Command palette")).to_have_count(0)


def test_a_day_without_a_mouse(page: Page, person: Person, guard: Guard) -> None:
    guard.allow("401")  # at the end, signed out
    workspace = make_workspace(person, {"notes.md": "one\ntwo\nthree\n"})
    for command in (["branch", "-M", "main"], ["checkout", "-qb", "topic"]):
        subprocess.run(["git", *command], cwd=workspace.path, check=True)
    page.goto("/")
    # The composer has the focus; the workspace is chosen in its menu.
    expect(box(page)).to_be_focused()
    tab_to(page, "Workspace:")
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name=workspace.path.name)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=f"Workspace: {workspace.path.name}")).to_be_focused()
    page.keyboard.press("/")
    expect(box(page)).to_be_focused()
    page.keyboard.insert_text(f"Number the notes\n{call('edit_files', edits=EDIT)}\nsay: It is changed.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Number the notes")
    expect(answers(page).last).to_contain_text("It is changed.")
    expect(box(page)).to_be_focused()

    # The change is read, a comment on it is written and sent.
    chosen(page, "open panel changes")
    panel = page.get_by_role("tabpanel", name="Changes")
    expect(panel.get_by_text("added: 2")).to_be_visible()
    tab_to(page, "Comment on line 2")
    page.keyboard.press("Enter")
    comment = panel.get_by_role("textbox")
    expect(comment).to_be_focused()
    page.keyboard.type("say: As you wish.")
    tab_to(page, "Add comment")
    page.keyboard.press("Enter")
    expect(panel.get_by_role("button", name="Send to agent")).to_be_visible()
    tab_to(page, "Send to agent")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log").get_by_text("A comment on your changes").first).to_be_visible()
    chat = page.url.rpartition("/")[2].split("#")[0]
    person.until(chat, lambda one: one["status"] == "idle")

    # What the agent asks is answered by one key; the change is merged.
    person.patch(f"chats/{chat}", {"tools": {"execute": "ask"}})
    page.keyboard.press("/")
    expect(box(page)).to_be_focused()
    page.keyboard.insert_text(f"{call('execute', command=MERGE)}\nsay: Merged.")
    page.keyboard.press("Enter")
    expect(asks(page)).to_have_count(1)
    page.keyboard.press("Alt+w")
    expect(asks(page)).to_be_focused()
    page.wait_for_timeout(700)  # keys that come at once are not meant for what has just appeared
    page.keyboard.press("y")
    expect(asks(page)).to_have_count(0)
    person.until(chat, lambda one: one["status"] == "idle")
    expect(answers(page).last).to_contain_text("Merged.")
    expect(page.get_by_test_id("workspace")).to_contain_text("main")
    assert (workspace.path / "notes.md").read_text() == "one\n2\nthree\n"

    # Tidied up, and signed out.
    chosen(page, "archive this chat")
    expect(page.get_by_role("heading", name="What should the agent do?")).to_be_visible()
    chosen(page, "sign out")
    expect(page.get_by_label("Sign-in link or token")).to_be_focused()
