"""What an agent asks of a person: approvals, questions, plans; also those of its sub-agents."""

import re
from pathlib import Path

import msgspec
from playwright.sync_api import Page, expect

from tests.e2e.conversing import answers, asks, box
from tests.e2e.server import Person

ECHO = 'call: execute {"command": "echo one two"}\nsay: It said {result}'


def call(name: str, **given: object) -> str:
    return f"call: {name} {msgspec.json.encode(given).decode()}"


def asked(page: Page, person: Person, content: str) -> str:
    chat = person.finished_chat(content, tools={"execute": "ask"})
    assert chat["status"] == "requires_action", chat
    page.goto(f"/chats/{chat['id']}")
    expect(asks(page)).to_have_count(1)
    return chat["id"]


def test_a_call_runs_after_it_was_approved(page: Page, person: Person) -> None:
    asked(page, person, ECHO)
    expect(page.get_by_test_id("status")).to_contain_text("Needs you")
    expect(asks(page)).to_contain_text("echo one two")
    asks(page).get_by_role("button", name="Allow once").click()
    expect(answers(page).last).to_contain_text("one two")
    call = page.get_by_test_id("call")
    expect(call).to_have_attribute("data-state", "succeeded")
    expect(call).to_contain_text("Allowed once by you")
    call.get_by_role("button").first.click()
    expect(call).to_contain_text("$ echo one two")
    # Who approved it is known after a reload, too.
    page.reload()
    call.get_by_role("button").first.click()
    expect(call).to_contain_text("Allowed once by you")


def test_always_is_for_this_chat(page: Page, person: Person) -> None:
    chat = asked(page, person, ECHO)
    asks(page).get_by_role("button", name="Allow for this chat").click()
    expect(answers(page).last).to_contain_text("one two")
    person.post(f"chats/{chat}/messages", {"content": ECHO.replace("one two", "once more")})
    expect(answers(page).last).to_contain_text("once more")
    expect(asks(page)).to_have_count(0)


def test_a_refusal_is_told_to_the_agent_with_its_reason(page: Page, person: Person) -> None:
    asked(page, person, ECHO)
    asks(page).get_by_role("button", name="Deny…").click()
    page.get_by_label("Reason (optional)").fill("use printf")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("call")).to_have_attribute("data-state", "denied")
    expect(answers(page).last).to_contain_text("use printf")


def test_requests_are_answered_by_keys(page: Page, person: Person) -> None:
    """The request takes the focus; y, a and n answer it; Escape stops the agent from anywhere."""
    chat = asked(page, person, ECHO)
    expect(asks(page)).to_be_focused()
    page.wait_for_timeout(700)  # keys that come at once are not meant for what has just appeared
    page.keyboard.press("n")
    expect(page.get_by_label("Reason (optional)")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Reason (optional)")).to_have_count(0)
    asks(page).focus()
    page.keyboard.press("y")
    expect(answers(page).last).to_contain_text("one two")
    expect(box(page)).to_be_focused()
    # One that writes is left alone, and comes to the request by one key.
    box(page).press_sequentially("yes, an answer")
    person.post(f"chats/{chat}/messages", {"content": ECHO.replace("one two", "for good")})
    expect(asks(page)).to_have_count(1)
    expect(box(page)).to_be_focused()
    page.keyboard.press("Alt+w")
    expect(asks(page)).to_be_focused()
    page.keyboard.press("a")
    # The request itself names the words too: it must be gone, and the turn over, before anything is read.
    expect(asks(page)).to_have_count(0)
    person.until(chat, lambda one: one["status"] == "idle")
    expect(answers(page).last).to_contain_text("for good")
    (rule,) = person.get(f"chats/{chat}/approvals")["items"]
    assert (rule["tool"], rule["allowed"]) == ("execute", True)
    page.get_by_role("button", name="New chat").first.focus()
    person.post(f"chats/{chat}/messages", {"content": "pace: 30\nsay slowly: this takes long, very long"})
    expect(answers(page).last).to_contain_text("this")
    page.keyboard.press("Escape")
    person.until(chat, lambda one: one["status"] == "idle")


def test_each_kind_of_request_has_its_own_answers(page: Page, person: Person, tmp_path: Path) -> None:
    """A path is open for the turn, for the chat, or by a rule."""
    (tmp_path / "notes").mkdir()
    access = call("request_access", path=str(tmp_path / "notes"), reason="to read them")
    asked(page, person, f"{access}\nsay: {{result}}")
    expect(asks(page).get_by_role("button")).to_have_text(
        [
            re.compile("^Allow once, for this turn"),
            re.compile("^Allow for this chat"),
            "Always allow this path (rule)",
            re.compile("^Deny…"),
        ]
    )
    asks(page).get_by_role("button", name="Always allow this path").click()
    expect(answers(page).last).to_contain_text("You may read this directory")
    (rule,) = person.get("approvals")["items"]
    assert rule["path"] == str(tmp_path / "notes")
    asked(page, person, ECHO)
    expect(asks(page).get_by_role("button")).to_have_text(
        [
            re.compile("^Allow once"),
            re.compile("^Allow for this chat"),
            "Always allow (rule)",
            re.compile("^Deny…"),
        ]
    )
    asks(page).get_by_role("button", name="Always allow (rule)").click()
    expect(answers(page).last).to_contain_text("one two")
    page.goto("/settings/approvals")
    page.get_by_role("button", name="Revoke execute").click()
    expect(page.get_by_role("button", name="Revoke execute")).to_have_count(0)
    assert [one["tool"] for one in person.get("approvals")["items"]] == ["request_access"]


def test_what_will_happen_is_readable_and_cannot_be_allowed_unseen(page: Page, person: Person) -> None:
    """Edits wait as diffs, commands with directory and timeout; nothing is hidden."""
    edits = [{"path": "NOTES.md", "old": "one\ntwo\n", "new": "one\n2\u202e\n"}]
    write = call("write_file", path="NOTES.md", content="one\ntwo\n")
    chat = person.finished_chat(
        f"{write}\n{call('edit_files', edits=edits)}\nsay: {{result}}", tools={"edit_files": "ask"}
    )
    page.goto(f"/chats/{chat['id']}")
    expect(asks(page).locator("[data-diff=removed]")).to_have_text("-two")
    expect(asks(page).locator("[data-diff=added]")).to_have_text("+2⟨U+202E⟩")
    expect(asks(page)).not_to_contain_text('"old"')
    hidden = "echo harmless" + "\n" * 120 + "echo the end"
    asked(page, person, f"{call('execute', command=hidden, timeout_seconds=7)}\nsay: {{result}}")
    expect(asks(page)).to_contain_text("Timeout7 s")
    expect(asks(page)).not_to_contain_text("the end")
    expect(asks(page).get_by_role("button", name="Allow once")).to_be_disabled()
    expect(asks(page).get_by_role("button", name="Always allow")).to_be_disabled()
    asks(page).get_by_role("button", name="Show 97 more lines").click()
    expect(asks(page)).to_contain_text("echo the end")
    asks(page).get_by_role("button", name="Allow once").click()
    expect(answers(page).last).to_contain_text("the end")


def test_questions_are_a_form(page: Page, person: Person) -> None:
    questions = [
        {"id": "license", "text": "Which license?", "options": ["MIT", "BSD"]},
        {"id": "systems", "text": "Which systems?", "options": ["Linux", "macOS"], "multiple": True},
    ]
    asked(page, person, f"{call('ask_user', questions=questions)}\nsay: I heard {{result}}")
    form = asks(page)
    expect(form.get_by_role("button", name="Answer")).to_be_disabled()
    form.get_by_label("BSD").check()
    form.get_by_label("Linux").check()
    form.get_by_label("Other").last.fill("Plan 9")
    form.get_by_role("button", name="Answer").click()
    expect(answers(page).last).to_contain_text("Plan 9")
    expect(answers(page).last).to_contain_text("BSD")


def test_a_plan_is_sent_back_and_accepted(page: Page, person: Person) -> None:
    plan = call("propose_plan", plan="# The plan\n\n1. Do it.")
    asked(page, person, f"{plan}\n{plan}\nsay: I heard {{result}}")
    expect(asks(page).get_by_role("heading", name="The plan")).to_be_visible()
    asks(page).get_by_label("What should change?").fill("slower")
    asks(page).get_by_role("button", name="Request changes").click()
    expect(page.get_by_test_id("call")).to_have_count(2)
    asks(page).get_by_role("button", name="Accept plan").click()
    expect(answers(page).last).to_contain_text('"approved":true')
    expect(asks(page)).to_have_count(0)


def test_a_sub_agents_question_is_answered_where_the_person_is(page: Page, person: Person) -> None:
    asking = call("ask_user", questions=[{"id": "q", "text": "Left or right?"}])
    spawn = call("spawn_agent", label="scout", prompt=f"{asking}\nsay: {{result}}")
    chat = person.start_chat(f"{spawn}\ncall: wait_agents\nsay: It said {{result}}", title="Ask around")
    page.goto("/")
    listed = page.get_by_role("link", name="Ask around")
    expect(listed).to_contain_text("needs you")
    listed.click()
    expect(page.get_by_test_id("status")).to_contain_text("Needs you")
    expect(page.get_by_text("scout asks:")).to_be_visible()
    expect(asks(page).get_by_text("Left or right?")).to_be_visible()
    asks(page).get_by_label("Your answer").fill("left")
    asks(page).get_by_role("button", name="Answer").click()
    expect(answers(page).last).to_contain_text("left")
    expect(listed).not_to_contain_text("needs you")
    page.get_by_role("link", name="Open chat").first.click()
    page.wait_for_url(re.compile(f"/chats/(?!{chat['id']})"))
    expect(page.get_by_role("heading", name="scout")).to_be_visible()
