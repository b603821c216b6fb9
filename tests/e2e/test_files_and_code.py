"""Code on the page: a path opens the file to be read, diffs and scripts have colours, the bar names the
workspace and its branch, a run shows its own script."""

import re
import subprocess

from playwright.sync_api import Locator, Page, expect

from tests.e2e.axe import violations
from tests.e2e.guard import Guard
from tests.e2e.server import Person
from tests.e2e.test_asking import call
from tests.e2e.test_panels import open_panel
from tests.e2e.workspace import make_workspace

CODE = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(1, 201))


def opened(page: Page, name: str) -> Locator:
    shown = page.get_by_role("dialog", name=name)
    expect(shown).to_be_visible()
    return shown


def test_a_path_opens_the_file_at_its_line(page: Page, person: Person, guard: Guard) -> None:
    workspace = make_workspace(person, {"src/code.py": CODE, "data.bin": "\0\1"})
    script = f"{call('grep', pattern='def f150', path='src')}\nsay: See [the code](src/code.py)."
    chat = person.finished_chat(script, workspace_id=workspace.id)
    page.goto(f"/chats/{chat['id']}")
    page.get_by_role("button", name="the code").last.click()
    file = opened(page, "src/code.py")
    expect(file).to_contain_text("read-only")
    lines = file.get_by_role("region", name="Lines of the file")
    expect(lines).to_be_focused()
    expect(lines.locator("[data-line='1']")).to_contain_text("def f1():")
    expect(lines.locator(".hljs-keyword").first).to_have_text("def")
    page.keyboard.press("Escape")
    expect(file).to_have_count(0)
    # From a search: at the line that was found.
    page.get_by_test_id("call").get_by_role("button").first.click()
    page.get_by_role("button", name="src/code.py:597").click()
    found = opened(page, "src/code.py").locator("[aria-current=location]")
    expect(found).to_contain_text("def f150():")
    expect(found).to_be_in_viewport()
    page.keyboard.press("Escape")
    # What is not there is told, where one looks.
    guard.allow("40[49]|422")
    (workspace.path / "src" / "code.py").unlink()
    page.get_by_role("button", name="the code").last.click()
    expect(opened(page, "src/code.py").get_by_role("alert")).to_contain_text("code.py")


def test_diffs_have_colours_and_the_bar_names_workspace_and_branch(page: Page, person: Person) -> None:
    workspace = make_workspace(person, {"code.py": CODE, "AGENTS.md": "Use tabs."})
    branch = "topic/colours"
    subprocess.run(["git", "checkout", "-qb", branch], cwd=workspace.path, check=True)
    edit = call("edit_files", edits=[{"path": "code.py", "old": "return 7\n", "new": 'return "seven"\n'}])
    chat = person.finished_chat(f"{edit}\nsay: Done.", workspace_id=workspace.id)
    panel = open_panel(page, chat["id"], "Changes")
    expect(panel.locator(".hljs-string")).to_contain_text(['"seven"'])
    expect(page.get_by_test_id("workspace")).to_contain_text(workspace.path.name)
    expect(page.get_by_test_id("workspace")).to_contain_text(branch)
    call_row = page.get_by_test_id("call").first
    call_row.get_by_role("button").first.click()
    expect(call_row.locator(".hljs-string").first).to_have_text('"seven"')
    panel.get_by_role("button", name="Side by side").click()
    expect(panel.locator(".hljs-keyword").first).to_be_visible()
    # An agent that checks out another branch is followed.
    subprocess.run(["git", "checkout", "-qb", "topic/next"], cwd=workspace.path, check=True)
    person.post(f"chats/{chat['id']}/messages", {"content": "say: moved"})
    expect(page.get_by_test_id("workspace")).to_contain_text("topic/next")
    # Its instruction file changed meanwhile.
    (workspace.path / "AGENTS.md").write_text("Use spaces.")
    page.get_by_role("button", name=re.compile("(^Context \\d|in the context$)")).click()
    filling = page.get_by_role("dialog", name="What fills the context")
    expect(filling.get_by_role("listitem").filter(has_text="AGENTS.md")).to_contain_text("changed on disk")
    assert violations(page, "dialog") == []
    filling.get_by_role("button", name="Use the new text").click()
    expect(filling.get_by_text("gets the new text with its next step")).to_be_visible()


def test_a_run_shows_its_own_script(page: Page, person: Person) -> None:
    """Also when the file of that workflow reads differently by now."""
    script = "export const meta = {name: 'greet', description: 'greets'}\nreturn 'hello'\n"
    workspace = make_workspace(person, {".holdfast/workflows/greet.js": script}, git=False)
    chat = person.finished_chat("say: hi", workspace_id=workspace.id)
    person.post("workflow-runs", {"name": "greet", "workspace_id": workspace.id})
    file = workspace.path / ".holdfast/workflows/greet.js"
    file.write_text(script.replace("hello", "something else"))
    panel = open_panel(page, chat["id"], "Workflow")
    panel.get_by_role("region", name="Earlier runs").get_by_role("button", name=re.compile("greet")).click()
    expect(panel.get_by_role("img", name="succeeded").first).to_be_visible()
    panel.get_by_text("Script", exact=True).click()
    lines = panel.get_by_role("region", name="Script")
    expect(lines).to_contain_text("return 'hello'")
    expect(lines.locator(".hljs-string").last).to_have_text("'hello'")
