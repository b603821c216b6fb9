"""Chats in the browser: sending and streaming, the list with its marks, search and links, and what survives a
reload or a server that was killed."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Opens
from tests.e2e.conversing import send
from tests.e2e.guard import Guard
from tests.e2e.server import Person, Server

COUNT = " ".join(f"word{n}" for n in range(1, 61))
SLOW = f"pace: 0.05\nsay slowly: {COUNT}"


def conversation(page: Page) -> Locator:
    return page.get_by_role("log", name="Conversation")


def listed(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Chats")


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def answer(page: Page) -> Locator:
    """The newest thing that the agent said."""
    return conversation(page).locator("[data-role=assistant]").last


def test_a_message_is_sent_and_its_answer_streams(page: Page, person: Person) -> None:
    page.goto("/")
    write(page, SLOW)
    page.wait_for_url(re.compile("/chats/"))
    # It is there before it is complete.
    expect(answer(page)).to_contain_text("word3")
    expect(page.get_by_test_id("status")).to_contain_text("Working")
    expect(answer(page)).to_contain_text("word60")
    expect(page.get_by_test_id("status")).to_have_count(0)
    chat_id = page.url.rpartition("/")[2]
    said = person.get(f"chats/{chat_id}/messages")["items"][-1]["parts"][-1]["text"]
    assert said == COUNT
    assert answer(page).inner_text().count("word60") == 1


def test_the_composer_answers_while_a_fast_stream_runs(page: Page, person: Person) -> None:
    """A person types while thousands of words arrive."""
    words = "pace: 0.0005\nsay slowly: " + " ".join(f"w{n}" for n in range(4000))
    chat = person.start_chat(words)
    page.goto(f"/chats/{chat['id']}")
    expect(answer(page)).to_contain_text("w30")
    box = page.get_by_role("textbox", name="Message", exact=True)
    box.press_sequentially("typing goes on meanwhile")
    expect(box).to_have_value("typing goes on meanwhile")
    expect(answer(page)).to_contain_text("w3999")


def test_a_reload_in_mid_stream_loses_and_doubles_nothing(page: Page, person: Person) -> None:
    chat = person.start_chat(SLOW)
    page.goto(f"/chats/{chat['id']}")
    expect(answer(page)).to_contain_text("word5")
    page.reload()
    expect(answer(page)).to_contain_text("word60")
    expect(page.get_by_test_id("status")).to_have_count(0)
    text = answer(page).inner_text()
    assert re.findall(r"word\d+", text) == COUNT.split()


def test_a_server_killed_in_mid_stream_goes_on(
    own_server: Server, own_admin: Person, opens: Opens, guards: list[Guard]
) -> None:
    page = opens(own_admin)
    guards[0].allow_unreachable()
    chat = own_admin.start_chat(f"pace: 0.1\nsay slowly: {COUNT}")
    page.goto(f"/chats/{chat['id']}")
    expect(answer(page)).to_contain_text("word5")
    own_server.kill()
    expect(page.get_by_test_id("status")).to_contain_text("Reconnecting")
    own_server.start()
    expect(answer(page)).to_contain_text("word60")
    expect(page.get_by_test_id("status")).to_have_count(0)
    assert re.findall(r"word\d+", answer(page).inner_text()) == COUNT.split()


def watches(page: Page) -> None:
    """Waits until the list's feed tells what happens from here on."""
    expect(page.get_by_test_id("chat-list")).to_have_attribute("data-link", "live")


def test_the_list_marks_what_needs_a_person(page: Page, person: Person) -> None:
    page.goto("/")
    watches(page)
    person.start_chat(
        'call: ask_user {"questions": [{"id": "q", "text": "Which one?"}]}', title="Has a question"
    )
    row = listed(page).get_by_role("link", name="Has a question")
    expect(row).to_contain_text("needs you")
    note = page.get_by_role("region", name="Notifications")
    expect(note).to_contain_text("Needs you: Has a question")
    note.get_by_role("button", name="Open").click()
    expect(page.get_by_role("heading", name="Has a question", exact=True)).to_be_visible()
    expect(page.get_by_test_id("status")).to_contain_text("Needs you")


def test_sub_agents_stand_below_their_chat(page: Page, person: Person) -> None:
    chat = person.finished_chat(
        'call: spawn_agent {"label": "scout", "prompt": "say: I am the scout"}\ncall: wait_agents\nsay: done',
        title="Parent",
    )
    page.goto(f"/chats/{chat['id']}")
    child = listed(page).get_by_role("link", name="scout")
    child.click()
    expect(conversation(page).get_by_text("I am the scout", exact=True)).to_be_visible()
    page.get_by_role("navigation", name="Started by").get_by_role("link", name="Parent").click()
    expect(page.get_by_role("heading", name="Parent")).to_be_visible()
    listed(page).get_by_role("button", name="Hide sub-agents of Parent").click()
    expect(child).to_have_count(0)
    # From elsewhere they are shown without opening the chat.
    page.goto("/")
    listed(page).get_by_role("button", name="Show sub-agents of Parent").click()
    expect(child).to_be_visible()
    expect(page.get_by_role("heading", name="What should the agent do?")).to_be_visible()


def test_a_search_leads_to_the_line(page: Page, person: Person) -> None:
    """The line with the match marked, in the list and in the palette; both lead to the message."""
    lines = "\n".join(f"say: answer number {n}" for n in range(12))
    chat = person.finished_chat(f"say: the quick zebrafish swims\n{lines}", title="A long one")
    page.goto("/")
    page.get_by_label("Search titles, messages and tool output").fill("zebrafish")
    found = listed(page).get_by_role("link", name="the quick zebrafish swims")
    expect(found.locator("mark")).to_have_text("zebrafish")
    found.click()
    page.wait_for_url(re.compile(f"/chats/{chat['id']}#"))
    expect(conversation(page).get_by_text("the quick zebrafish swims").first).to_be_in_viewport()
    page.goto("/")
    expect(listed(page).get_by_role("link", name="A long one")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill("zebrafish")
    option = page.get_by_role("option", name="A long one")
    expect(option.locator("mark")).to_have_text("zebrafish")
    option.click()
    page.wait_for_url(re.compile(f"/chats/{chat['id']}#"))


def test_the_keyboard_finds_its_way(page: Page, person: Person) -> None:
    """The composer has the focus after opening and sending; one Tab stop a chat; skip links first."""
    person.finished_chat("say: hello", title="First")
    chat = person.finished_chat("say: hello", title="Second")
    page.goto(f"/chats/{chat['id']}")
    box = page.get_by_role("textbox", name="Message", exact=True)
    expect(box).to_be_focused()
    page.keyboard.type("say: once more")
    page.keyboard.press("Enter")
    expect(answer(page)).to_contain_text("once more")
    expect(box).to_be_focused()
    first = page.evaluate("document.querySelector('a, button, input, textarea').textContent")
    assert first == "Skip to conversation"
    page.get_by_role("link", name="Skip to conversation").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to message box")).to_be_focused()
    page.keyboard.press("Enter")
    expect(box).to_be_focused()
    second = listed(page).get_by_role("link", name="Second")
    second.focus()
    page.keyboard.press("Tab")
    expect(listed(page).get_by_role("link", name="First")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("menu")).to_be_visible()
    page.keyboard.press("Escape")
    listed(page).get_by_role("link", name="First").click()
    expect(page.get_by_role("heading", name="First", exact=True)).to_be_visible()
    expect(box).to_be_focused()


def test_a_chat_is_renamed_pinned_archived_and_deleted(page: Page, person: Person) -> None:
    chat = person.finished_chat("say: hello", title="Before")
    person.finished_chat("say: hello", title="Another")
    page.goto(f"/chats/{chat['id']}")

    def choose(name: str) -> None:
        page.get_by_role("banner").get_by_role("button", name="More").click()
        page.get_by_role("menuitem", name=name).click()

    choose("Rename this chat")
    page.get_by_label("Chat title").fill("After")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="After")).to_be_visible()
    choose("Pin this chat")
    expect(
        listed(page).get_by_role("region", name="Pinned").get_by_role("link", name="After")
    ).to_be_visible()
    choose("Archive this chat")
    expect(listed(page).get_by_role("link", name="After")).to_have_count(0)
    listed(page).get_by_role("button", name="Show archived chats").click()
    listed(page).get_by_role("link", name="After").click()
    choose("Delete this chat")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="What should the agent do?")).to_be_visible()
    assert [one["title"] for one in person.get("chats")["items"]] == ["Another"]


def test_search_finds_what_was_said(page: Page, person: Person) -> None:
    person.finished_chat("say: the quick brown zebra", title="About animals")
    person.finished_chat("say: nothing of that", title="Something else")
    page.goto("/")
    expect(listed(page).get_by_role("link", name="Something else")).to_be_visible()
    page.keyboard.press("Control+Shift+F")
    page.keyboard.type("zebra")
    expect(listed(page).get_by_role("status")).to_have_text("1 chat found")
    listed(page).get_by_role("link", name="About animals").click()
    expect(conversation(page).get_by_text("the quick brown zebra", exact=True)).to_be_visible()
    page.get_by_role("button", name="Clear search").click()
    expect(listed(page).get_by_role("link", name="Something else")).to_be_visible()


def test_a_link_opens_a_long_chat_at_its_message(page: Page, person: Person) -> None:
    """One that is far above what a chat opens with."""
    steps = [f'say: This is step {n}.\ncall: todo {{"items": []}}' for n in range(1, 121)]
    chat = person.finished_chat("\n".join([*steps, "say: This is the end."]))
    history = person.get(f"chats/{chat['id']}/messages?limit=200")["items"]
    linked = history[61]
    said = linked["parts"][0]["text"]
    page.goto(f"/chats/{chat['id']}#{linked['id']}")
    expect(conversation(page).get_by_text(said, exact=True)).to_be_in_viewport()


def test_a_chat_that_is_not_there(page: Page, guard: Guard) -> None:
    guard.allow("404")
    page.goto("/chats/019ff000-0000-7000-8000-000000000000")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    page.get_by_role("link", name="Go to your chats").click()
    expect(page.get_by_role("heading", name="What should the agent do?")).to_be_visible()


def test_two_tabs_know_the_same(page: Page, person: Person) -> None:
    """One of them has the list's feed and tells the other; when it is closed, the other takes over."""
    page.goto("/")
    other = page.context.new_page()
    other.goto("/")
    person.finished_chat("say: hi", title="For both")
    for tab in (page, other):
        expect(listed(tab).get_by_role("link", name="For both")).to_be_visible()
    page.close()
    person.finished_chat("say: hi", title="For who is left")
    expect(listed(other).get_by_role("link", name="For who is left")).to_be_visible()


def test_a_chat_has_its_title_when_it_is_sent(page: Page) -> None:
    """In the list, above the conversation and in the window, while the agent still works."""
    page.goto("/")
    send(page, "## Sort the *old* letters\npace: 30\nsay slowly: a b c d e f g h")
    page.wait_for_url(re.compile("/chats/"))
    expect(page.get_by_test_id("status")).to_contain_text("Working")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sort the *old* letters")
    expect(page.get_by_role("link", name="Sort the *old* letters")).to_be_visible()
    expect(page).to_have_title("Sort the *old* letters · Holdfast")
    page.keyboard.press("Escape")
