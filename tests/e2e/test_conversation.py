"""The conversation: what streams is seen once and whole, whatever happens to page and server meanwhile."""

import re

import pytest
from playwright.sync_api import Page, Playwright, expect

from tests.e2e.conftest import PHONE, Opens
from tests.e2e.conversing import answers, box, log, send
from tests.e2e.guard import Guard
from tests.e2e.server import Person, Server

WORDS = " ".join(f"word{number}" for number in range(60))
# Long enough to do something meanwhile, on a slow machine too; short enough to be waited for.
SLOW = f"pace: 0.1\nsay slowly: {WORDS}"


def test_a_message_is_sent_and_its_answer_streams(page: Page) -> None:
    page.goto("/")
    send(page, SLOW)
    page.wait_for_url(re.compile("/chats/"))
    expect(page.get_by_test_id("status")).to_contain_text("Working")
    expect(page.get_by_test_id("live")).to_contain_text("Writing")
    streaming = answers(page).last
    expect(streaming).to_contain_text("word2")
    assert "word59" not in (streaming.text_content() or "")
    expect(streaming).to_have_attribute("data-live", "true")
    # The row stays the same element when the text is committed: nothing is drawn anew.
    element = streaming.element_handle()
    expect(streaming).to_contain_text(WORDS)
    expect(streaming).to_have_attribute("data-message", re.compile(".+"))
    assert element.evaluate("element => element.isConnected")
    expect(answers(page)).to_have_count(1)
    expect(page.get_by_test_id("live")).to_have_count(0)


def test_a_reload_in_the_middle_loses_and_doubles_nothing(page: Page, person: Person) -> None:
    chat = person.start_chat(SLOW)
    page.goto(f"/chats/{chat['id']}")
    expect(answers(page).last).to_contain_text("word4")
    page.reload()
    expect(answers(page).last).to_contain_text("word8")
    page.reload()
    expect(answers(page).last).to_contain_text(WORDS)
    expect(answers(page)).to_have_count(1)
    assert (log(page).text_content() or "").count("word30") == 2  # said once, and asked for once


def test_a_killed_server_goes_on_and_so_does_the_page(
    opens: Opens, own_server: Server, guards: list[Guard], playwright: Playwright
) -> None:
    person = Person(playwright, own_server, own_server.admin_token)
    chat = person.start_chat(SLOW)
    page = opens(person)
    guards[0].allow_unreachable()
    guards[0].allow("Failed to load resource")
    page.goto(f"/chats/{chat['id']}")
    expect(answers(page).last).to_contain_text("word4")
    box(page).fill("what I was writing")
    own_server.kill()
    expect(page.get_by_test_id("live")).to_contain_text("Reconnecting")
    own_server.start()
    expect(answers(page).last).to_contain_text(WORDS)
    expect(answers(page)).to_have_count(1)
    expect(page.get_by_test_id("live")).to_have_count(0)
    expect(box(page)).to_have_value("what I was writing")
    person.close()


def test_an_interrupt_keeps_what_was_said(page: Page, person: Person) -> None:
    chat = person.start_chat(f"pace: 0.1\nsay slowly: {WORDS} {WORDS} {WORDS}")
    page.goto(f"/chats/{chat['id']}")
    expect(answers(page).last).to_contain_text("word3")
    box(page).focus()
    page.keyboard.press("Escape")
    expect(log(page).get_by_text("Interrupted here.")).to_be_visible()
    expect(page.get_by_test_id("status")).to_have_count(0)
    expect(answers(page)).to_have_count(1)


def test_a_message_is_edited_and_run_again(page: Page, person: Person) -> None:
    chat = person.finished_chat("say: the first answer")
    page.goto(f"/chats/{chat['id']}")
    asked = log(page).locator("[data-role=user]")
    asked.hover()
    asked.get_by_role("button", name="Edit and run again").click()
    editor = page.get_by_label("Edit the message")
    expect(editor).to_have_value("say: the first answer")
    editor.fill("say: another answer")
    page.locator("form").filter(has=editor).get_by_role("button", name="Run again").click()
    expect(answers(page).last).to_contain_text("another answer")
    expect(log(page).get_by_text("the first answer")).to_have_count(0)


def test_a_failure_says_what_to_do_and_is_tried_again(page: Page, person: Person) -> None:
    chat = person.finished_chat("fail: auth")
    page.goto(f"/chats/{chat['id']}")
    card = page.get_by_test_id("failure")
    expect(card).to_contain_text("Check the key")
    expect(card.get_by_role("link", name="Models and providers")).to_be_visible()
    card.get_by_role("button", name="Try again").click()
    person.until(chat["id"], lambda one: one["version"] > chat["version"] + 1 and one["status"] == "error")
    expect(card).to_be_visible()


def test_a_retry_is_told_with_its_reason(page: Page, person: Person) -> None:
    chat = person.start_chat("fail: overloaded 4 times\nsay: at last")
    page.goto(f"/chats/{chat['id']}")
    expect(page.get_by_test_id("live")).to_contain_text(re.compile(r"Retrying in \d+ s .*overloaded"))
    expect(answers(page).last).to_contain_text("at last")


def test_a_fork_begins_where_it_was_made(page: Page, person: Person) -> None:
    chat = person.finished_chat("say: one")
    person.post(f"chats/{chat['id']}/messages", {"content": "say: two"})
    person.until(chat["id"], lambda one: one["status"] == "idle" and one["queue_length"] == 0)
    page.goto(f"/chats/{chat['id']}")
    expect(answers(page)).to_have_count(2)
    first = answers(page).first
    first.hover()
    first.get_by_role("button", name="Fork here").click()
    page.wait_for_url(re.compile(f"/chats/(?!{chat['id']})"))
    expect(answers(page)).to_have_count(1)
    expect(answers(page).first).to_contain_text("one")


LONG = 'repeat 150: call: todo {"items": []}\nsay: The end of a long chat.'


@pytest.fixture
def long_chat(person: Person) -> str:
    """More messages than are loaded at once."""
    chat = person.start_chat("say: **The very beginning.**")
    person.until(chat["id"], lambda one: one["status"] == "idle")
    for number in range(15):
        person.post(f"chats/{chat['id']}/messages", {"content": f"say: answer {number}\n\n  {WORDS}"})
        person.until(chat["id"], lambda one: one["status"] == "idle" and one["queue_length"] == 0)
    person.post(f"chats/{chat['id']}/messages", {"content": LONG})
    person.until(chat["id"], lambda one: one["status"] == "idle" and one["queue_length"] == 0)
    return chat["id"]


def test_a_long_chat_opens_at_its_end_and_is_read_backwards(page: Page, long_chat: str) -> None:
    page.goto(f"/chats/{long_chat}")
    expect(log(page).get_by_text("The end of a long chat.", exact=True)).to_be_in_viewport()
    expect(page.get_by_text(re.compile("earlier steps: todo")).last).to_be_visible()
    place = log(page).bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 200, place["y"] + 200)
    beginning = answers(page).get_by_text("The very beginning.", exact=True)
    for _ in range(200):
        if beginning.count() > 0:
            break
        page.mouse.wheel(0, -1500)
        page.wait_for_timeout(20)
    expect(beginning).to_be_visible()
    page.get_by_role("button", name="Jump to latest").click()
    expect(log(page).get_by_text("The end of a long chat.", exact=True)).to_be_in_viewport()
    expect(page.get_by_role("button", name="Jump to latest")).to_have_count(0)


def test_reading_stays_where_it_is_while_history_is_loaded_and_text_streams(
    page: Page, person: Person, long_chat: str
) -> None:
    page.goto(f"/chats/{long_chat}")
    expect(log(page).get_by_text("The end of a long chat.", exact=True)).to_be_in_viewport()
    first = person.get(f"chats/{long_chat}/messages?limit=60")["items"]
    linked = next(
        one for one in first if one["role"] == "assistant" and "answer 10" in one["parts"][0]["text"]
    )
    page.goto(f"/chats/{long_chat}#{linked['id']}")
    row = log(page).locator(f"[data-message='{linked['id']}']")
    expect(row).to_be_in_viewport()
    # What is loaded around it does not move it: two looks in a row find it at the same place.
    page.wait_for_function(
        """id => new Promise(resolve => {
            const top = () => document.querySelector(`[data-message="${id}"]`)?.getBoundingClientRect().top;
            const before = top();
            setTimeout(() => resolve(before !== undefined && before === top()), 300);
        })""",
        arg=linked["id"],
    )
    before = row.bounding_box()
    person.post(f"chats/{long_chat}/messages", {"content": f"say: {WORDS}"})
    person.until(long_chat, lambda one: one["status"] == "idle" and one["queue_length"] == 0)
    expect(page.get_by_role("button", name="Jump to latest")).to_be_visible()
    after = row.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) <= 1


def test_a_pinned_message_is_jumped_to(page: Page, long_chat: str) -> None:
    page.goto(f"/chats/{long_chat}")
    end = log(page).get_by_text("The end of a long chat.", exact=True)
    expect(end).to_be_in_viewport()
    row = answers(page).last
    row.hover()
    row.get_by_role("button", name="Pin", exact=True).click()
    log(page).evaluate("element => { element.scrollTop = 0 }")
    expect(end).not_to_be_in_viewport()
    page.get_by_role("navigation", name="Pinned messages").get_by_role(
        "button", name="Jump to pinned: The end"
    ).click()
    expect(end).to_be_in_viewport()
    page.reload()
    expect(page.get_by_role("navigation", name="Pinned messages")).to_be_visible()


def test_on_a_phone_it_is_the_same(opens: Opens, person: Person) -> None:
    page = opens(person, size=PHONE)
    page.goto("/")
    send(page, "say: hello\ncall: list\nsay: done")
    page.wait_for_url(re.compile("/chats/"))
    expect(answers(page).last).to_contain_text("done")
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"]
