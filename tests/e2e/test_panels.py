"""The panels beside the conversation: trace, timeline, changes, agents and usage, as a person uses them."""

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.axe import violations
from tests.e2e.conftest import PHONE, WIDE, Opens
from tests.e2e.server import Person
from tests.e2e.workspace import make_workspace

NOTES = "".join(f"line {number}\n" for number in range(1, 21))
EDIT = """\
call: read_file {"path": "notes.md"}
call: edit_files {"edits": [{"path": "notes.md", "old": "line 7\\n", "new": "line seven\\n"}]}
say: It is changed."""


def open_panel(page: Page, chat: str, name: str) -> Locator:
    page.goto(f"/chats/{chat}")
    panels = page.get_by_role("complementary", name="Panels")
    show = page.get_by_role("button", name="Show panels")
    expect(show.or_(panels).first).to_be_visible()
    if not panels.is_visible():
        show.click()
    page.get_by_role("tab", name=re.compile(name)).click()
    return page.get_by_role("tabpanel", name=re.compile(name))


def conversation(page: Page) -> Locator:
    return page.get_by_role("log", name="Conversation")


# --- trace ---


def test_the_trace_of_a_turn_with_a_tool_call(page: Page, person: Person) -> None:
    chat = person.finished_chat(
        "usage: input=67000 output=20 cache_read=45000 cache_write=2000\n"
        'calls: write_file {"path": "a.md", "content": "durable"}; read_file {"path": "missing.md"}\n'
        "say: Done."
    )
    panel = open_panel(page, chat["id"], "Trace")
    tree = panel.get_by_role("tree", name="Spans of this chat")
    expect(tree.get_by_role("treeitem", name=re.compile("Turn 1.*1 error"))).to_be_visible()
    expect(tree.get_by_role("treeitem")).to_have_count(7)
    expect(
        panel.get_by_role("img", name="67 % from cache: 45K read · 2K written · 20K fresh")
    ).to_be_visible()

    panel.get_by_role("button", name="Failed").click()
    expect(tree.get_by_role("treeitem", name=re.compile("^Tool call: read_file"))).to_be_visible()
    expect(tree.get_by_role("treeitem", name=re.compile("^Tool call: write_file"))).to_have_count(0)
    panel.get_by_role("button", name="Failed").click()
    panel.get_by_role("textbox", name=re.compile("Search")).fill("durable")
    expect(tree.get_by_role("treeitem", name=re.compile("^Tool call: read_file"))).to_have_count(0)
    tree.get_by_role("treeitem", name=re.compile("^Tool call: write_file")).click()
    details = panel.get_by_role("region", name="Span details")
    expect(details).to_contain_text('"path": "a.md"')
    expect(details).to_contain_text("succeeded")


def test_the_trace_is_walked_by_keys_and_tells_what_came_to_a_request(page: Page, person: Person) -> None:
    chat = person.finished_chat('call: write_file {"path": "a.md", "content": "x"}\nsay: Done.')
    panel = open_panel(page, chat["id"], "Trace")
    tree = panel.get_by_role("tree")
    expect(tree.get_by_role("treeitem")).to_have_count(6)
    tree.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    details = panel.get_by_role("region", name="Span details")
    expect(details).to_contain_text("Model call")
    expect(details).to_contain_text("Since the previous step")
    # The messages that were added, as the record of requests has them.
    expect(details).to_contain_text("Wrote a.md, a new file.")
    # Read like a sentence, and unfolded as texts.
    result = details.locator("summary").filter(has_text="write_file: succeeded")
    result.click()
    expect(details.locator("pre").filter(has_text="Wrote a.md").first).to_be_visible()
    tree.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(tree.get_by_role("treeitem")).to_have_count(1)


def test_the_hit_rate_of_the_cache(page: Page, person: Person) -> None:
    chat = person.finished_chat("usage: input=67000 output=20 cache_read=45000\nsay: Done.")
    panel = open_panel(page, chat["id"], "Trace")
    expect(panel).to_contain_text("Cache hit rate 67 % (45K of 67K)")


def test_the_trace_is_live(page: Page, person: Person) -> None:
    chat = person.start_chat('call: execute {"command": "sleep 600"}\nsay: Done.')
    panel = open_panel(page, chat["id"], "Trace")
    running = panel.get_by_role("treeitem", name=re.compile("^Tool call: execute"))
    expect(running).to_be_visible()
    person.post(f"chats/{chat['id']}/interrupt")
    running.click()
    expect(panel.get_by_role("region", name="Span details")).to_contain_text("cancelled")


def test_what_was_done_stays_in_sight_while_a_person_is_waited_for(page: Page, person: Person) -> None:
    chat = person.finished_chat(
        'pace: 0.1\nsay slowly: one two three\ncall: execute {"command": "true"}\nsay: Done.',
        tools={"execute": "ask"},
    )
    panel = open_panel(page, chat["id"], "Trace")
    model = panel.get_by_role("treeitem", name=re.compile("^Model call"))
    asked = panel.get_by_role("treeitem", name=re.compile("^Tool call: execute"))
    expect(asked.get_by_label("needs you")).to_be_visible()
    bar = "item => item.querySelector('[style*=width]').getBoundingClientRect().width"
    before = model.evaluate(bar)
    took = panel.get_by_role("treeitem", name=re.compile("^Turn 1"))
    # Much longer than what was done: drawn to scale, nothing of it would be left.
    expect(took).to_contain_text(re.compile(r"\b[6-9]\.\d s|\b\d\d s"))
    assert model.evaluate(bar) > before * 0.6
    assert asked.evaluate(bar) > 10
    asked.click()
    expect(panel.get_by_role("region", name="Span details")).to_contain_text("needs you")
    page.get_by_test_id("ask").get_by_role("button", name="Allow once").click()
    expect(asked.get_by_label("needs you")).to_have_count(0)
    expect(panel.get_by_role("region", name="Span details")).to_contain_text("succeeded")


def test_earlier_turns_of_a_long_chat_come_when_they_are_looked_for(page: Page, person: Person) -> None:
    chat = person.finished_chat("say: first of all")
    for number in range(2, 31):
        person.post(f"chats/{chat['id']}/messages", {"content": f"say: answer {number}"})
        person.until(chat["id"], lambda one: one["status"] == "idle")
    panel = open_panel(page, chat["id"], "Trace")
    tree = panel.get_by_role("tree")
    expect(tree.get_by_role("treeitem", name=re.compile("Turn 30"))).to_be_visible()
    tree.focus()

    def seen() -> bool:
        page.keyboard.press("End")
        return tree.get_by_role("treeitem", name=re.compile("Turn 1 ")).is_visible()

    while not seen():
        page.wait_for_timeout(50)


# --- timeline ---


def test_the_timeline_leads_to_a_turn_and_back(page: Page, person: Person) -> None:
    chat = person.finished_chat("say: " + "the beginning " * 400, title="Long")
    person.post(f"chats/{chat['id']}/messages", {"content": "say: " + "the end " * 400})
    person.until(chat["id"], lambda one: one["status"] == "idle")
    panel = open_panel(page, chat["id"], "Timeline")
    turns = panel.get_by_role("list", name="Turns of this chat").get_by_role("button")
    expect(turns).to_have_count(2)
    expect(turns.first).to_contain_text("1 step")
    turns.last.click()
    first = person.get(f"chats/{chat['id']}/messages")["items"][0]["id"]
    expect(page).to_have_url(re.compile(f"#{first}$"))
    expect(page.locator(f"[data-message='{first}']")).to_be_in_viewport()
    panel.get_by_role("button", name="Latest").click()
    last = person.get(f"chats/{chat['id']}/messages")["items"][-1]["id"]
    expect(page.locator(f"[data-message='{last}']")).to_be_in_viewport()


# --- changes ---


def test_the_changes_of_an_edit_live_and_commented(page: Page, person: Person) -> None:
    workspace = make_workspace(person, {"notes.md": NOTES})
    chat = person.finished_chat("say: I am ready.", workspace_id=workspace.id)
    panel = open_panel(page, chat["id"], "Changes")
    expect(panel).to_contain_text("No changes")

    person.post(f"chats/{chat['id']}/messages", {"content": EDIT})
    expect(panel.get_by_role("button", name=re.compile(r"^notes\.md"))).to_contain_text("+1")
    expect(panel.get_by_text("line seven")).to_be_visible()

    panel.get_by_role("button", name="Side by side").click()
    expect(panel.get_by_text("removed: line 7")).to_be_visible()
    panel.get_by_role("button", name="Unified").click()

    # By keys alone: from one line to the next, and a comment on it.
    panel.get_by_role("button", name="Comment on line 7").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    box = panel.get_by_role("textbox", name="Comment on notes.md, line 7")
    expect(box).to_be_focused()
    box.fill("Write it with a capital.")
    panel.get_by_role("button", name="Add comment").click()
    # It survives a reload.
    page.reload()
    expect(panel.get_by_role("button", name="Send to agent")).to_be_visible()
    panel.get_by_role("button", name="Send to agent").click()
    expect(conversation(page)).to_contain_text("Write it with a capital.")
    said = person.until(chat["id"], lambda one: one["status"] == "idle") and person.get(
        f"chats/{chat['id']}/messages"
    )
    asked = [one for one in said["items"] if one["role"] == "user"][-1]["parts"][0]["text"]
    assert "`notes.md`, line 7:\n```diff\n+line seven\n```\nWrite it with a capital." in asked
    expect(panel.get_by_role("button", name="Send to agent")).to_have_count(0)


def test_collisions_are_marked_by_severity(page: Page, person: Person) -> None:
    workspace = make_workspace(person, {"notes.md": NOTES})
    other = EDIT.replace("line 7", "line 9").replace("line seven", "line nine")
    chat = person.finished_chat(EDIT, workspace_id=workspace.id, title="One")
    person.finished_chat(other, workspace_id=workspace.id, title="The other")
    panel = open_panel(page, chat["id"], "Changes")
    expect(panel.get_by_text("nearby lines were changed by")).to_be_visible()
    panel.get_by_role("link", name="The other").click()
    expect(page.get_by_role("heading", name="The other")).to_be_visible()


def test_without_changes_to_show_the_panel_teaches(page: Page, person: Person) -> None:
    panel = open_panel(page, person.finished_chat("say: hello")["id"], "Changes")
    expect(panel).to_contain_text("as soon as each call ends")
    panel.get_by_role("button", name="Since last commit").click()
    expect(panel).to_contain_text("No workspace")
    plain = make_workspace(person, {"notes.md": NOTES}, git=False)
    panel = open_panel(page, person.finished_chat("say: hello", workspace_id=plain.id)["id"], "Changes")
    panel.get_by_role("button", name="Since last commit").click()
    expect(panel).to_contain_text("git init")


def test_changes_are_reviewed_and_undone(page: Page, person: Person) -> None:
    """By keys: a waiting change is applied and undone; and the chat is rewound to before the message."""
    workspace = make_workspace(person, {"notes.md": NOTES})
    chat = person.finished_chat(EDIT, workspace_id=workspace.id, writes="review")
    file = workspace.path / "notes.md"
    assert file.read_text() == NOTES
    panel = open_panel(page, chat["id"], "Changes")
    expect(panel).to_contain_text("1 change waits for your review")
    panel.get_by_role("button", name=re.compile(r"^notes\.md")).focus()
    page.keyboard.press("a")
    expect(panel.get_by_role("button", name="Undo notes.md")).to_be_visible()
    assert "line seven" in file.read_text()
    panel.get_by_role("button", name=re.compile(r"^notes\.md")).focus()
    page.keyboard.press("u")
    expect(panel).to_contain_text("undone")
    assert file.read_text() == NOTES
    said = conversation(page).locator("[data-message]").first
    said.hover()
    said.get_by_role("button", name="Rewind to before this message").click()
    page.get_by_role("dialog").get_by_role("button", name="Rewind to before this message").click()
    expect(page.get_by_text("Rewound.")).to_be_visible()
    expect(conversation(page).locator("[data-message]")).to_have_count(0)


def test_changes_are_committed_on_a_branch(page: Page, person: Person) -> None:
    workspace = make_workspace(person, {"notes.md": NOTES})
    chat = person.finished_chat(EDIT, workspace_id=workspace.id)
    panel = open_panel(page, chat["id"], "Changes")
    panel.get_by_role("button", name="Since last commit").click()
    panel.get_by_role("button", name="New branch").click()
    panel.get_by_label("Name of the new branch").fill("agent/notes")
    panel.get_by_role("button", name="Make branch").click()
    expect(page.get_by_text("on the branch agent/notes now")).to_be_visible()
    with page.expect_download() as patch:
        panel.get_by_label("Download as a patch").click()
    assert "line seven" in patch.value.path().read_text()
    panel.get_by_role("button", name="Propose a message").click()
    message = panel.get_by_label("Commit message")
    expect(message).to_have_value("Change files with the demo model")
    message.fill("Line seven")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("Committed .* on agent/notes"))).to_be_visible()
    expect(panel).to_contain_text("No changes")


def test_a_worktree_of_an_agent_is_merged_and_removed(page: Page, person: Person) -> None:
    workspace = make_workspace(person, {"notes.md": NOTES})
    child = json.dumps('call: write_file {"path": "new.txt", "content": "new"}')
    spawn = f'call: spawn_agent {{"prompt": {child}, "isolation": "worktree"}}'
    script = f"{spawn}\ncall: wait_agents {{}}\nsay: Done."
    chat = person.finished_chat(script, workspace_id=workspace.id)
    panel = open_panel(page, chat["id"], "Changes")
    panel.get_by_role("button", name="Since last commit").click()
    worktrees = panel.get_by_label("Worktrees of agents")
    worktrees.get_by_role("button", name="Merge").click()
    expect(page.get_by_text("1 file merged into the workspace.")).to_be_visible()
    assert (workspace.path / "new.txt").read_text() == "new"
    worktrees.get_by_role("button", name="Remove").click()
    worktrees.get_by_role("button", name="Remove with its changes").click()
    expect(worktrees).to_be_hidden()


# --- agents ---

SCOUT = """\
call: spawn_agent {"label": "inner", "prompt": "say: I am inside."}
call: wait_agents
say: All is well."""


SLEEPER = """\
say: I am going to sleep.
wait: 600"""


def spawning(label: str, prompt: str) -> str:
    return f"spawn_agent {json.dumps({'label': label, 'prompt': prompt})}"


def test_the_tree_of_sub_agents(page: Page, person: Person) -> None:
    both = f"calls: {spawning('scout', SCOUT)}; {spawning('sleeper', SLEEPER)}"
    chat = person.start_chat(f"{both}\nsay: They are on their way.")
    panel = open_panel(page, chat["id"], "Agents")
    expect(page.get_by_role("tab", name="Agents 1")).to_be_visible()
    agents = panel.get_by_role("list", name="Sub-agents of this chat")
    expect(agents.get_by_role("button", name=re.compile("^scout.*finished.*All is well"))).to_be_visible()
    expect(
        agents.get_by_role("list").get_by_role("button", name=re.compile("^inner.*finished"))
    ).to_be_visible()

    sleeper = agents.get_by_role("button", name=re.compile("^sleeper"))
    expect(sleeper).to_contain_text("working")
    sleeper.click()
    # What it says is read as it says it.
    expect(agents.get_by_text("I am going to sleep.")).to_be_visible()
    agents.get_by_role("button", name="Stop").click()
    expect(sleeper).to_contain_text("stopped")
    # The lines that started them tell the same, and the tab counts who is at work.
    ends = page.get_by_test_id("agent-end")
    expect(ends).to_have_text(["finished", "stopped"])
    expect(page.get_by_role("tab", name="Agents", exact=True)).to_be_visible()

    agents.get_by_role("textbox", name="Message to sleeper").fill("say: I am awake again.")
    agents.get_by_role("button", name="Send and resume").click()
    expect(sleeper).to_contain_text("I am awake again.")
    agents.get_by_role("link", name="Open chat").click()
    expect(page.get_by_role("heading", name="sleeper")).to_be_visible()


# --- usage ---


def test_usage_of_the_chat_and_of_all(page: Page, person: Person) -> None:
    person.finished_chat("usage: input=9000 output=100\nsay: one", title="Another")
    chat = person.finished_chat("usage: input=3000 output=50 cache_read=1500\nsay: two", title="This one")
    panel = open_panel(page, chat["id"], "Usage")
    expect(panel).to_contain_text("1.5K from cache")
    expect(panel.get_by_role("img", name=re.compile("By day: Total"))).to_be_visible()
    expect(panel.get_by_role("link", name="Another")).to_be_visible()
    panel.get_by_role("button", name="Cost").click()
    expect(panel).to_contain_text("No usage in this period.")


# --- everybody ---


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_everybody_can_use_the_panels(opens: Opens, person: Person, size: dict[str, int], theme: str) -> None:
    workspace = make_workspace(person, {"notes.md": NOTES})
    chat = person.finished_chat(
        'call: spawn_agent {"label": "scout", "prompt": "say: Here."}\ncall: wait_agents\n' + EDIT,
        workspace_id=workspace.id,
    )
    page = opens(person, size=size, theme=theme)
    page.goto(f"/chats/{chat['id']}")
    page.get_by_role("button", name="Show panels").click()
    shown = {
        "Trace": page.get_by_role("treeitem", name=re.compile("^Sub-agent: scout")),
        "Timeline": page.get_by_role("button", name=re.compile("5 steps")),
        "Changes": page.get_by_text("line seven").last,
        "Agents": page.get_by_role("button", name=re.compile("^scout.*finished")),
        "Workflow": page.get_by_role("button", name=re.compile("^review-code")),
        "Usage": page.get_by_role("img", name=re.compile("By day")),
    }
    for name, content in shown.items():
        page.get_by_role("tab", name=name).click()
        expect(content.first).to_be_visible()
        assert violations(page, "[role=tabpanel]") == [], name
    page.get_by_role("tab", name="Usage").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Flows")).to_be_focused()
    expect(page.get_by_role("tabpanel", name="Flows")).to_be_visible()
