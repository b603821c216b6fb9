"""The frame of the page: palette and keys, panels, themes, settings, and a phone."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import PHONE, Opens
from tests.e2e.guard import Guard
from tests.e2e.server import Person


def test_the_palette_does_actions_and_opens_chats(page: Page, person: Person) -> None:
    person.finished_chat("say: hello", title="Find me by name")
    page.goto("/")
    expect(page.get_by_role("link", name="Find me by name")).to_be_visible()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Command palette")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("find me")
    expect(palette.get_by_role("option", name="Find me by name")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Find me by name")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("theme dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_keys_are_listed_and_work(page: Page, person: Person) -> None:
    for title in ("First", "Second"):
        person.finished_chat("say: hello", title=title)
    page.goto("/")
    expect(page.get_by_role("link", name="Second")).to_be_visible()
    page.get_by_role("main").focus()
    page.keyboard.press("?")
    shown = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shown).to_contain_text("Command palette")
    page.keyboard.press("Escape")
    expect(shown).to_have_count(0)
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="Second")).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="First")).to_be_visible()
    page.keyboard.press("c")
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_be_focused()
    # Letters are letters for who writes.
    page.keyboard.type("?jc")
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_have_value("?jc")


def test_panels_are_opened_resized_and_remembered(page: Page, person: Person) -> None:
    chat = person.finished_chat("say: hello", title="With panels")
    page.goto(f"/chats/{chat['id']}")
    page.get_by_role("button", name="Show panels").click()
    panels = page.get_by_role("complementary", name="Panels")
    before = panels.bounding_box()
    panels.get_by_role("separator").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    after = panels.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"]
    tab = panels.get_by_role("tab", selected=True).inner_text()
    page.reload()
    expect(panels.get_by_role("tab", selected=True)).to_have_text(tab)
    again = panels.bounding_box()
    assert again is not None
    assert again["width"] == after["width"]


def test_a_phone_has_drawers(opens: Opens, person: Person) -> None:
    page = opens(person, size=PHONE)
    chat = person.finished_chat("say: hello from afar", title="On the phone")
    page.goto("/")
    page.get_by_role("button", name="Show chats").click()
    drawer = page.get_by_role("dialog", name="Chats")
    drawer.get_by_role("link", name="On the phone").click()
    expect(drawer).to_have_count(0)
    expect(page.get_by_role("log").get_by_text("hello from afar", exact=True)).to_be_visible()
    assert page.url.endswith(chat["id"])
    # Nothing is wider than the screen.
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_role("button", name="Show panels").click()
    panels = page.get_by_role("dialog", name="Panels")
    expect(panels).to_be_visible()
    # Tabs that do not fit are in a menu.
    panels.get_by_role("button", name="All panels").click()
    page.get_by_role("menuitem", name="Usage").click()
    expect(panels.get_by_role("tab", name="Usage", selected=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(panels).to_have_count(0)


def test_menus_work_inside_of_a_drawer(opens: Opens, person: Person) -> None:
    page = opens(person, size=PHONE)
    person.finished_chat("say: hello", title="On the phone")
    page.goto("/")
    page.get_by_role("button", name="Show chats").click()
    drawer = page.get_by_role("dialog", name="Chats")
    drawer.get_by_role("button", name="Signed in as").click()
    page.get_by_role("menuitem", name="Theme: dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    # Escape closes what is on top, and nothing else.
    drawer.get_by_role("button", name="Signed in as").click()
    expect(page.get_by_role("menu")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    expect(drawer).to_be_visible()
    drawer.get_by_role("button", name="Signed in as").click()
    page.get_by_role("menuitem", name="Settings").click()
    expect(drawer).to_have_count(0)
    expect(page.get_by_role("heading", name="Appearance")).to_be_visible()


def test_an_admin_sets_up_a_model_and_tries_it(opens: Opens, admin: Person) -> None:
    page = opens(admin)
    page.goto("/settings/models")
    page.get_by_role("button", name="Add a provider").click()
    form = page.get_by_role("dialog", name="Add a provider")
    form.get_by_label("Name").fill("play")
    form.get_by_label("Kind").select_option("demo")
    form.get_by_role("button", name="Save").click()
    form = page.get_by_role("dialog", name="Add a model")
    expect(form.get_by_label("Provider", exact=True)).to_have_value("play")
    form.get_by_label("Name").fill("player")
    form.get_by_label("Model id").fill("demo")
    form.get_by_role("button", name="Save").click()
    row = page.get_by_role("listitem").filter(has_text="player")
    row.get_by_role("button", name="Test").click()
    expect(row.get_by_role("status")).to_be_visible()
    row.get_by_role("button", name="Remove player").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Remove play").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("play", exact=True)).to_have_count(0)


def test_an_admin_invites_and_suspends_somebody(opens: Opens, admin: Person) -> None:
    page = opens(admin)
    page.goto("/settings/users")
    page.get_by_role("button", name="Invite someone").click()
    form = page.get_by_role("dialog", name="Invite someone")
    form.get_by_label("Name").fill("nora")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text(re.compile(r"/login#token=hf_"))).to_be_visible()
    row = page.get_by_role("listitem").filter(has_text="nora")
    row.get_by_role("button", name="Suspend").click()
    page.get_by_role("dialog").get_by_role("button", name="Suspend").click()
    expect(row).to_contain_text("suspended")
    row.get_by_role("button", name="Restore").click()
    expect(row).not_to_contain_text("suspended")


def test_a_token_is_shown_once_and_revoked(opens: Opens, admin: Person) -> None:
    page = opens(admin)
    page.goto("/settings/tokens")
    page.get_by_role("button", name="Create token").click()
    form = page.get_by_role("dialog", name="Create token")
    form.get_by_label("Name").fill("robot")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text(re.compile("^hf_"))).to_be_visible()
    page.reload()
    row = page.get_by_role("listitem").filter(has_text="robot")
    expect(row).to_be_visible()
    expect(page.get_by_text(re.compile("^hf_"))).to_have_count(0)
    row.get_by_role("button", name="Revoke robot").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)


def test_agents_and_workspaces_are_added_and_removed(page: Page, person: Person, guard: Guard) -> None:
    page.goto("/settings/agents")
    page.get_by_role("button", name="Add an agent").click()
    form = page.get_by_role("dialog", name="Add an agent")
    form.get_by_label("Name").fill("reviewer")
    form.get_by_label("Instructions").fill("Look for mistakes.")
    form.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Remove reviewer").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("None yet. Add one for recurring work")).to_be_visible()

    project = person.server.workspaces / "project"
    project.mkdir(exist_ok=True)
    page.goto("/settings/workspaces")
    guard.allow("422")
    page.get_by_role("button", name="Add a workspace").click()
    form = page.get_by_role("dialog", name="Add a workspace")
    form.get_by_label("Name").fill("project")
    form.get_by_label("Path on the server").fill("/nowhere")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    form.get_by_label("Path on the server").fill(str(project))
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text(str(project))).to_be_visible()


def test_a_member_sees_no_more_than_a_member_may(page: Page) -> None:
    page.goto("/settings/models")
    expect(page.get_by_text("Only an admin can change this.")).to_be_visible()
    expect(page.get_by_role("link", name="People")).to_have_count(0)
    page.goto("/settings/users")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
