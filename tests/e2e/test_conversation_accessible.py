"""axe finds nothing on a conversation with everything in it opened, in light and dark, wide and small."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.axe import violations
from tests.e2e.conftest import PHONE, WIDE, Opens
from tests.e2e.conversing import answers, asks, box
from tests.e2e.server import Person

WORK = """Look at everything.

think: Where to begin?
call: write_file {"path": "a.md", "content": "# A\\n"}
call: edit_files {"edits": [{"path": "a.md", "old": "# A", "new": "# B"}]}
call: read_file {"path": "a.md"}
call: grep {"pattern": "B"}
call: todo {"items": [{"text": "one", "status": "completed"}, {"text": "two"}]}
call: read_file {"path": "missing.md"}
say: # Result

  | a | b |
  |---|---|
  | 1 | 2 |

  ```python
  def f() -> int:
      return 1
  ```

  - [x] done
  - [a link](https://example.com/) and $x^2$
"""
ASKING = {
    "approval": 'call: execute {"command": "ls"}',
    "plan": 'call: propose_plan {"plan": "# Plan\\n\\n1. Do it."}',
    "questions": 'call: ask_user {"questions": [{"id": "a", "text": "Which?", "options": ["x", "y"]}]}',
}
LOOKS = [(WIDE, "light"), (PHONE, "dark")]


@pytest.mark.parametrize("size, theme", LOOKS)
def test_work_that_was_looked_into(opens: Opens, person: Person, size: dict[str, int], theme: str) -> None:
    chat = person.finished_chat(WORK)
    page = opens(person, size=size, theme=theme)
    page.goto(f"/chats/{chat['id']}")
    expect(answers(page).last).to_contain_text("Result")
    page.get_by_role("button", name="earlier steps").click()
    calls = page.get_by_test_id("call")
    expect(calls).to_have_count(6)
    for number in range(6):
        calls.nth(number).get_by_role("button").first.click()
    page.get_by_role("button", name="Thought").click()
    expect(page.locator("pre").first).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("size, theme", LOOKS)
@pytest.mark.parametrize("kind", ASKING)
def test_what_is_asked(opens: Opens, person: Person, kind: str, size: dict[str, int], theme: str) -> None:
    chat = person.finished_chat(ASKING[kind], tools={"execute": "ask"})
    page = opens(person, size=size, theme=theme)
    page.goto(f"/chats/{chat['id']}")
    expect(asks(page)).to_be_visible()
    if kind == "approval":
        asks(page).get_by_role("button", name="Deny…").click()
    assert violations(page) == []


@pytest.mark.parametrize("size, theme", LOOKS)
def test_the_queue_and_what_is_suggested(
    opens: Opens, person: Person, size: dict[str, int], theme: str
) -> None:
    chat = person.start_chat("pace: 1\nsay slowly: " + "on and on " * 200)
    for text in ("first", "second"):
        person.post(f"chats/{chat['id']}/messages", {"content": text})
    person.post(f"chats/{chat['id']}/messages", {"content": "third", "busy": "steer"})
    page = opens(person, size=size, theme=theme)
    page.goto(f"/chats/{chat['id']}")
    queued = page.get_by_test_id("queued")
    expect(queued).to_have_count(3)
    queued.nth(0).get_by_role("button", name="Edit queued message").click()
    expect(queued.nth(0).get_by_role("textbox")).to_be_visible()
    box(page).press_sequentially("/")
    expect(page.get_by_role("option").first).to_be_visible()
    assert violations(page) == []
    _leave(page)


def _leave(page: Page) -> None:
    """Lets go of what is held."""
    page.keyboard.press("Escape")
    page.get_by_test_id("queued").nth(0).get_by_role("button", name="Cancel").click()
