"""The screens of the page, each brought to where it shows what it is for: for axe to judge, for pictures."""

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page, expect

from tests.e2e.server import Person

WORK = """Write the release notes, read them again, and ask me before you go on.

think: The notes should be short. Three points are enough.
say: I write the notes first.
call: write_file {"path": "NOTES.md", "content": "# Notes\\n\\n- Nothing is lost\\n- Exact resume\\n"}
calls: read_file {"path": "NOTES.md"}; list {"path": "."}
say: ## Release notes

  The notes are written. What they promise:

  | point | what it means |
  |---|---|
  | durable | every step is committed before the next |
  | exact | a reader misses nothing and sees nothing twice |

  ```python
  change = decide(view_of(chat), Resume())
  await store.apply(change)  # published after the commit
  ```

  Then there is the **open question** below.
call: ask_user {"questions": [{"id": "tone", "text": "Which tone?", "options": ["plain", "proud"]}]}
say: Thank you.
"""
AGENTS = """Let two scouts look around.

say: I start two scouts and wait for both.
call: spawn_agent {"label": "docs scout", "prompt": "say: The documents are in order."}
call: spawn_agent {"label": "code scout", "prompt": "call: list\\nsay: The code is in order."}
call: wait_agents
say: Both scouts are done, and everything is in order.
"""
LONG = "pace: 30\nsay slowly: I begin with the first part, then I wait for quite a while"
FAILED = "say: I try.\nfail: auth"


@dataclass(frozen=True)
class Scene:
    """The chats that the screens show."""

    work: str
    agents: str
    long: str
    failed: str


def prepared(who: Person) -> Scene:
    return Scene(
        agents=who.finished_chat(AGENTS, title="Two scouts")["id"],
        failed=who.finished_chat(FAILED, title="A key that was refused")["id"],
        long=who.start_chat(LONG, title="A long walk")["id"],
        work=who.finished_chat(WORK, title="Release notes")["id"],
    )


Shows = Callable[[Page, Scene], None]


def _heading(page: Page, name: str) -> None:
    expect(page.get_by_role("heading", name=name, exact=True).first).to_be_visible()


def _home(page: Page, _: Scene) -> None:
    page.goto("/")
    expect(page.get_by_role("button", name="A tool call")).to_be_visible()


def _chat(name: str, title: str) -> Shows:
    def show(page: Page, scene: Scene) -> None:
        page.goto(f"/chats/{getattr(scene, name)}")
        _heading(page, title)
        expect(page.get_by_role("log").locator("[data-role]").first).to_be_visible()

    return show


def _list(page: Page, scene: Scene) -> None:
    _chat("agents", "Two scouts")(page, scene)
    toggle = page.get_by_role("button", name="Show chats")
    if toggle.count() > 0:
        toggle.click()
    expect(page.get_by_role("link", name="docs scout").first).to_be_visible()


def _panel(name: str, chat: str, title: str) -> Shows:
    def show(page: Page, scene: Scene) -> None:
        _chat(chat, title)(page, scene)
        opener = page.get_by_role("button", name="Show panels")
        if opener.count() > 0:
            opener.click()
        tab = page.get_by_role("tab", name=name)
        tab.click()
        expect(page.get_by_role("tabpanel")).to_be_visible()
        expect(page.get_by_role("tabpanel").get_by_text("Loading…", exact=True)).to_have_count(0)

    return show


def _palette(page: Page, scene: Scene) -> None:
    _chat("agents", "Two scouts")(page, scene)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Command palette")).to_be_visible()


def _shortcuts(page: Page, scene: Scene) -> None:
    _chat("agents", "Two scouts")(page, scene)
    page.get_by_role("main").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def _settings(section: str, title: str) -> Shows:
    def show(page: Page, _: Scene) -> None:
        page.goto(f"/settings/{section}")
        _heading(page, title)
        expect(page.get_by_text("Loading…", exact=True)).to_have_count(0)

    return show


SCREENS: dict[str, Shows] = {
    "home": _home,
    "list": _list,
    "chat": _chat("work", "Release notes"),
    "working": _chat("long", "A long walk"),
    "failed": _chat("failed", "A key that was refused"),
    "palette": _palette,
    "shortcuts": _shortcuts,
    "trace": _panel("Trace", "work", "Release notes"),
    "timeline": _panel("Timeline", "work", "Release notes"),
    "changes": _panel("Changes", "work", "Release notes"),
    "agents": _panel("Agents", "agents", "Two scouts"),
    "workflow": _panel("Workflow", "work", "Release notes"),
    "usage": _panel("Usage", "agents", "Two scouts"),
    "appearance": _settings("appearance", "Appearance"),
    "models": _settings("models", "Models and providers"),
    "named-agents": _settings("agents", "Named agents"),
    "workspaces": _settings("workspaces", "Workspaces"),
    "approvals": _settings("approvals", "Approvals"),
    "tokens": _settings("tokens", "API tokens"),
    "people": _settings("users", "People"),
}
