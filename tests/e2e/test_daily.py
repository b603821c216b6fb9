"""What a daily user meets: errors where they belong, pictures in full, commands that are corrected, a trace
that tells everything, a sign-in link that may be pasted."""

import re
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

from tests.e2e.conftest import PHONE, Opens
from tests.e2e.conversing import answers, asks, box, log, send
from tests.e2e.guard import Guard
from tests.e2e.server import Person
from tests.e2e.test_asking import call
from tests.e2e.test_panels import open_panel
from tests.e2e.test_workflow_panel import SCRIPT
from tests.e2e.workspace import make_workspace


def test_errors_stand_at_their_fields_and_files_are_checked_first(
    page: Page, guard: Guard, tmp_path: Path
) -> None:
    guard.allow("422")
    page.goto("/settings/workspaces")
    page.get_by_role("button", name="Add a workspace").click()
    form = page.get_by_role("dialog")
    expect(form.get_by_text("workspaces.roots in the configuration")).to_be_visible()
    form.get_by_label("Name").fill("elsewhere")
    form.get_by_label("Path on the server").fill("/etc")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_label("Path on the server")).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_role("alert")).to_contain_text("is not a directory below an allowed root.")
    page.keyboard.press("Escape")
    page.goto("/")
    film = tmp_path / "film.mp4"
    film.write_bytes(b"x")
    page.locator("input[type=file]").set_input_files(film)
    expect(page.get_by_text("film.mp4 can't be attached. Use images, PDF or text files.")).to_be_visible()


def test_a_trace_that_cannot_be_read_says_so_and_is_read_again(
    page: Page, guard: Guard, person: Person
) -> None:
    """And it shows what a model was given and said, and the totals of the whole chat."""
    chat = person.finished_chat("usage: input=3000 output=50\nsay: a clear answer")
    guard.allow("503")
    page.route(re.compile("/trace"), lambda route: route.fulfill(status=503, body="{}"))
    panel = open_panel(page, chat["id"], "Trace")
    expect(panel.get_by_role("alert")).to_contain_text("Can't load this.")
    page.unroute_all()
    panel.get_by_role("button", name="Retry").click()
    panel.get_by_role("treeitem", name=re.compile("Model call|demo")).last.click()
    details = panel.get_by_role("region", name="Span details")
    expect(details).to_contain_text(re.compile(r"Started.*\d:\d\d:\d\d"))
    expect(details).to_contain_text("a clear answer")
    expect(panel).to_contain_text("Whole chat: 3K tokens")


def test_a_link_may_be_pasted_whole_or_opened_in_the_same_tab(
    opens: Opens, admin: Person, guards: list[Guard]
) -> None:
    page = opens(admin)
    guards[0].allow("401")
    page.context.clear_cookies()
    page.goto("/login")
    expect(page.get_by_text("holdfast user sign-in --url")).to_be_visible()
    token = admin.post("users", {"name": "pastes"})["sign_in_token"]
    page.get_by_label("Sign-in link or token").fill(f" {admin.server.address}/login#token={token} ")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="What should the agent do?")).to_be_visible()
    page.context.clear_cookies()
    page.goto("/login")
    expect(page.get_by_label("Sign-in link or token")).to_be_visible()
    token = admin.post("users", {"name": "follows"})["sign_in_token"]
    page.evaluate(f"location.hash = 'token={token}'")
    expect(page.get_by_role("heading", name="What should the agent do?")).to_be_visible()


def test_the_conversation_reads_well(page: Page, person: Person) -> None:
    """Markdown in messages, answers that stay in sight, questions that can be skipped, commands corrected."""
    question = call("ask_user", questions=[{"id": "q", "text": "Which colour?"}])
    person.finished_chat("say: hello")
    chat = person.finished_chat(f"Do **this** first\n{question}\n{question}\nsay: {{result}}")
    page.goto(f"/chats/{chat['id']}")
    expect(log(page).get_by_test_id("written").locator("strong")).to_have_text("this")
    asks(page).get_by_label("Your answer").fill("teal")
    asks(page).get_by_role("button", name="Answer").click()
    expect(page.get_by_test_id("call").first).to_contain_text("teal")
    asks(page).get_by_role("button", name="Skip question").click()
    expect(answers(page).last).to_contain_text("skipped")
    expect(page.get_by_test_id("call").last).to_contain_text("skipped")
    box(page).fill("/compct")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Use /compact").click()
    expect(box(page)).to_have_value("/compact")
    send(page, "/nonsense at all")
    expect(page.get_by_text("There is no command /nonsense.")).to_be_visible()
    page.get_by_role("button", name="Send as text").click()
    expect(log(page).get_by_text("/nonsense at all").first).to_be_visible()

    expect(page.get_by_test_id("live")).to_have_count(0)


def test_a_note_tells_how_a_background_agent_ended(page: Page, person: Person) -> None:
    """On the line that started it, and as a note of its own when it comes later than the turn."""
    scout = call("spawn_agent", label="scout", prompt="wait: 1\nsay: All clear.")
    broken = call("spawn_agent", label="broken", prompt="wait: 1\nfail: auth")
    chat = person.finished_chat(f"{scout}\n{broken}\nsay: Both work in the background.")
    page.goto(f"/chats/{chat['id']}")
    for how in ("A sub-agent finished", "A sub-agent failed"):
        note = log(page).get_by_text(how, exact=True).locator("xpath=ancestor::div[1]")
        expect(note.get_by_role("link", name="Open chat")).to_be_visible()
    started = page.get_by_test_id("call")
    expect(started.filter(has_text="scout")).to_contain_text("finished")
    expect(started.filter(has_text="broken")).to_contain_text("failed")
    log(page).get_by_text("A sub-agent finished", exact=True).locator("xpath=ancestor::div[1]").get_by_role(
        "button", name="Show"
    ).click()
    expect(log(page).get_by_text("All clear.").first).to_be_visible()


def test_a_workflow_is_started_by_writing_its_name(page: Page, guard: Guard, person: Person) -> None:
    guard.allow("422")  # there is no such workflow, at the end
    workspace = make_workspace(person, {".holdfast/workflows/two-steps.js": SCRIPT})
    chat = person.finished_chat("say: hello", workspace_id=workspace.id)
    page.goto(f"/chats/{chat['id']}")
    box(page).fill('/workflow two-steps {"topic": ')
    page.keyboard.press("Enter")
    expect(page.get_by_text("The arguments are not valid JSON.")).to_be_visible()
    box(page).fill('/workflow two-steps {"topic": "Tea"}')
    page.keyboard.press("Enter")
    notice = page.get_by_test_id("workflow-notice").first
    expect(notice).to_contain_text("two-steps")
    notice.get_by_role("button").last.click()
    panel = page.get_by_role("tabpanel", name="Workflow")
    expect(panel).to_contain_text("About Tea")
    expect(panel).to_contain_text("Tea is good. Very good.")
    expect(box(page)).to_have_value("")
    box(page).fill("/workflow no-such")
    page.keyboard.press("Enter")
    expect(page.get_by_text("no-such").last).to_be_visible()
    expect(box(page)).to_have_value("/workflow no-such")


def test_a_picture_opens_in_full(page: Page, person: Person) -> None:
    workspace = make_workspace(person, {"README.md": "here"}, git=False)
    Image.new("RGB", (400, 300), "teal").save(workspace.path / "teal.png")
    chat = person.finished_chat(
        f"{call('attach_file', path='teal.png')}\nsay: nice", workspace_id=workspace.id
    )
    page.goto(f"/chats/{chat['id']}")
    page.get_by_test_id("call").get_by_role("button").first.click()
    tile = page.get_by_role("button", name="Open teal.png").first
    tile.click()
    shown = page.get_by_role("dialog", name="teal.png")
    expect(shown.locator("img")).to_have_js_property("naturalWidth", 400)
    page.keyboard.press("+")
    expect(shown.locator("img")).to_have_attribute("data-zoom", "1.5")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(tile).to_be_focused()


def test_a_phone_has_targets_for_fingers_and_reading_is_known_everywhere(
    opens: Opens, person: Person
) -> None:
    chat = person.finished_chat("say: hello", title="Read there")
    wide = opens(person)
    with wide.expect_response(
        lambda response: response.request.method == "PATCH" and "/settings" in response.url
    ) as kept:
        wide.goto(f"/chats/{chat['id']}")
    assert kept.value.ok
    wide.goto("/settings/appearance")
    person.post(f"chats/{chat['id']}/messages", {"content": "say: something new"})
    person.until(chat["id"], lambda one: one["status"] == "idle" and one["version"] > chat["version"] + 1)
    phone = opens(person, size=PHONE)
    phone.goto("/")
    phone.get_by_role("button", name="Show chats").click()
    expect(phone.get_by_role("link", name="Read there")).to_contain_text("unread")
    for button in phone.get_by_role("button").all():
        if button.is_visible() and (size := button.bounding_box()) is not None:
            assert size["height"] >= 40, button.get_attribute("aria-label") or button.inner_text()
    font = phone.evaluate("document.fonts.load('16px \"Inter Variable\"').then(found => found.length)")
    assert font == 1
