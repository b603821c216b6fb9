"""The composer: the queue, steering and interrupting, drafts, commands, files; all of it by keyboard too."""

import re
from pathlib import Path

from playwright.sync_api import APIResponse, Page, Route, expect

from tests.e2e.conftest import PHONE, Opens
from tests.e2e.conversing import answers, box, log, send
from tests.e2e.server import Person, Server
from tests.e2e.workspace import make_workspace

# Goes on until it is stopped.
BUSY = "pace: 0.5\nsay slowly: " + "on and on " * 400
# Its first step takes a while, then it asks the model again: where a steer joins.
STEPS = (
    "pace: 0.3\nsay slowly: "
    + "first step " * 25
    + "\ncall: list\nsay slowly: second step\ncall: list\nsay: end"
)


def busy(page: Page, person: Person, content: str = BUSY) -> str:
    chat = person.start_chat(content)["id"]
    page.goto(f"/chats/{chat}")
    expect(page.get_by_test_id("live")).to_be_visible()
    return chat


def queue(page: Page, text: str, keys: str = "Enter") -> None:
    box(page).fill(text)
    page.keyboard.press(keys)
    expect(box(page)).to_have_value("")


def queued(page: Page) -> list[str]:
    texts = page.get_by_test_id("queued").locator("p").all_inner_texts()
    return [re.sub(r"\s+", " ", text) for text in texts]


def test_the_queue_is_edited_reordered_and_sent(page: Page, person: Person) -> None:
    busy(page, person)
    for text in ("say: one", "say: two", "say: three"):
        queue(page, text)
    items = page.get_by_test_id("queued")
    expect(items).to_have_count(3)
    # Edited: held meanwhile.
    items.nth(0).get_by_role("button", name="Edit queued message").click()
    editor = items.nth(0).get_by_role("textbox", name="Edit queued message")
    editor.fill("say: one, but better")
    editor.press("Enter")
    expect(items.nth(0)).to_contain_text("say: one, but better")
    # By keys.
    items.nth(2).get_by_role("button", name="Move: say: three").focus()
    page.keyboard.press("ArrowUp")
    expect(items.nth(1)).to_contain_text("say: three")
    # By dragging.
    items.nth(2).get_by_role("button", name="Move: say: two").drag_to(items.nth(0))
    expect(items.nth(0)).to_contain_text("say: two")
    assert queued(page) == ["say: two", "say: one, but better", "say: three"]
    items.nth(1).get_by_role("button", name="Remove from queue").click()
    expect(items).to_have_count(2)
    # Sent now: the agent is interrupted, the rest follows.
    items.nth(1).get_by_role("button", name="Interrupt and send").click()
    expect(answers(page).last).to_contain_text("two")
    expect(items).to_have_count(0)
    said = answers(page).locator(".markdown").all_inner_texts()
    assert [text.strip() for text in said][-2:] == ["three", "two"]


def test_a_steer_joins_the_work(page: Page, person: Person) -> None:
    busy(page, person, STEPS)
    queue(page, "say: steered", "Control+Enter")
    expect(page.get_by_test_id("queued")).to_contain_text("Steer")
    expect(answers(page).last).to_contain_text("steered")
    expect(page.get_by_test_id("queued")).to_have_count(0)
    expect(log(page).get_by_text("end", exact=True)).to_have_count(0)


def test_a_key_interrupts_and_sends(page: Page, person: Person) -> None:
    busy(page, person)
    queue(page, "say: this instead", "Alt+Enter")
    expect(answers(page).last).to_contain_text("this instead")
    expect(log(page).get_by_text("Interrupted here.")).to_be_visible()


def test_drafts_survive_a_reload_and_belong_to_their_chat(page: Page, person: Person) -> None:
    one = person.finished_chat("say: one", title="One")["id"]
    other = person.finished_chat("say: other", title="Other")["id"]
    page.goto(f"/chats/{one}")
    box(page).fill("half a thought")
    page.reload()
    expect(box(page)).to_have_value("half a thought")
    page.get_by_role("link", name="Other").click()
    page.wait_for_url(re.compile(other))
    expect(box(page)).to_have_value("")
    page.get_by_role("link", name="One").click()
    expect(box(page)).to_have_value("half a thought")


def test_what_was_sent_is_recalled(page: Page, person: Person) -> None:
    chat = person.finished_chat("say: first")["id"]
    page.goto(f"/chats/{chat}")
    expect(answers(page)).to_have_count(1)
    send(page, "say: second")
    expect(answers(page)).to_have_count(2)
    box(page).focus()
    page.keyboard.press("ArrowUp")
    expect(box(page)).to_have_value("say: second")
    page.keyboard.press("ArrowUp")
    expect(box(page)).to_have_value("say: first")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(box(page)).to_have_value("")


def test_commands_are_chosen_by_name(page: Page, person: Person) -> None:
    chat = person.finished_chat("say: hello", title="Before")["id"]
    page.goto(f"/chats/{chat}")
    expect(answers(page)).to_have_count(1)
    box(page).press_sequentially("/rena")
    expect(page.get_by_role("option", name="/rename")).to_be_visible()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Rename")
    dialog.get_by_label("Chat title").fill("After")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="After")).to_be_visible()
    expect(box(page)).to_have_value("")
    # A text that is no command is asked about once; sent once more, it is a text.
    box(page).fill("/tmp is a directory")
    page.keyboard.press("Enter")
    expect(page.get_by_text("There is no command /tmp.")).to_be_visible()
    page.keyboard.press("Enter")
    expect(log(page).get_by_text("/tmp is a directory", exact=True)).to_be_visible()


def test_a_skill_of_the_workspace_begins_a_message(page: Page, person: Person) -> None:
    skill = "---\nname: proofread\ndescription: Finds mistakes in a text\n---\nRead it twice.\n"
    workspace = make_workspace(person, {".agents/skills/proofread/SKILL.md": skill}, git=False)
    chat = person.finished_chat("say: hello", workspace_id=workspace.id)
    page.goto(f"/chats/{chat['id']}")
    box(page).press_sequentially("/skill")
    expect(page.get_by_role("option", name="/skill proofread")).to_contain_text("Finds mistakes in a text")
    page.keyboard.press("Enter")
    expect(box(page)).to_have_value("Use the skill proofread: ")
    expect(box(page)).to_be_focused()


def test_files_of_the_workspace_are_suggested(page: Page, person: Person, server: Server) -> None:
    place = server.workspaces / "suggested"
    (place / "src").mkdir(parents=True)
    (place / "src" / "parser.py").write_text("x = 1\n")
    workspace = person.post("workspaces", {"name": "suggested", "path": str(place)})
    chat = person.finished_chat("say: hello", workspace_id=workspace["id"])["id"]
    page.goto(f"/chats/{chat}")
    expect(answers(page)).to_have_count(1)
    box(page).press_sequentially("look at @pars")
    expect(page.get_by_role("option", name="src/parser.py")).to_be_visible()
    page.keyboard.press("Tab")
    expect(box(page)).to_have_value("look at @src/parser.py ")


def test_files_are_attached_sent_and_shown(page: Page, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("remember this\n")
    page.goto("/")
    page.locator("input[type=file]").set_input_files(notes)
    tile = page.get_by_role("list", name="Attached files").get_by_role("listitem")
    expect(tile).to_contain_text("notes.txt")
    expect(tile).not_to_contain_text("Uploading")
    box(page).fill("say: thanks")
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/chats/"))
    expect(log(page).locator("[data-role=user]").get_by_text("notes.txt")).to_be_visible()
    with page.expect_download() as download:
        log(page).get_by_role("link", name="Download notes.txt").click()
    assert Path(download.value.path()).read_text() == "remember this\n"


def test_all_of_it_by_keyboard(page: Page, person: Person) -> None:
    """Send, look into a call, approve, answer, interrupt: without a mouse."""
    chat = person.finished_chat("say: hello")["id"]
    person.patch(f"chats/{chat}", {"tools": {"execute": "ask"}})
    page.goto(f"/chats/{chat}")
    expect(answers(page)).to_have_count(1)
    expect(box(page)).to_be_focused()
    box(page).blur()
    page.keyboard.press("/")
    expect(box(page)).to_be_focused()
    page.keyboard.type('call: execute {"command": "echo by keyboard"}')
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("say: ran")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("ask")).to_be_focused()
    tab_to(page, "Allow once", backwards=False)
    page.keyboard.press("Enter")
    expect(answers(page).last).to_contain_text("ran")
    # Shift+Tab in the box switches the mode.
    box(page).blur()
    tab_to(page, "echo by keyboard", backwards=True)
    page.keyboard.press("Enter")
    expect(log(page).get_by_text("$ echo by keyboard")).to_be_visible()
    box(page).focus()
    page.keyboard.type("pace: 0.5")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("say slowly: " + "and on " * 100)
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("live")).to_contain_text("Writing")
    page.keyboard.press("Escape")
    expect(log(page).get_by_text("Interrupted here.")).to_be_visible()


def test_a_request_that_comes_while_a_message_is_sent_has_the_focus(page: Page, person: Person) -> None:
    chat = person.finished_chat("say: hello")["id"]
    person.patch(f"chats/{chat}", {"tools": {"execute": "ask"}})
    page.goto(f"/chats/{chat}")
    expect(box(page)).to_be_focused()
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST":
            held.append((route, route.fetch()))
        else:
            route.continue_()

    page.route("**/api/v1/chats/*/messages", hold)
    page.keyboard.type('call: execute {"command": "echo late"}')
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("ask")).to_be_visible()
    ((route, response),) = held
    route.fulfill(response=response)
    expect(page.get_by_test_id("ask")).to_be_focused()


def tab_to(page: Page, name: str, *, backwards: bool) -> None:
    """Moves the focus until something of this name has it."""
    for _ in range(60):
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
        focused = page.evaluate("document.activeElement?.textContent ?? ''")
        if name in focused and len(focused) < 200:
            return
    raise AssertionError(f"{name} cannot be reached by Tab")


def test_the_queue_on_a_phone(opens: Opens, person: Person) -> None:
    page = opens(person, size=PHONE)
    busy(page, person)
    queue(page, "say: " + "a long message " * 12)
    expect(page.get_by_test_id("queued")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_role("button", name="Stop").click()
    expect(answers(page).last).to_contain_text("a long message")
