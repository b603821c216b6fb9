"""What an agent asks of a person: approvals, questions, plans; also those of its sub-agents."""

import re

import msgspec
from playwright.sync_api import Page, expect

from tests.e2e.conversing import answers, asks
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
    asks(page).get_by_role("button", name="Once").click()
    expect(answers(page).last).to_contain_text("one two")
    call = page.get_by_test_id("call")
    expect(call).to_have_attribute("data-state", "succeeded")
    expect(call).to_contain_text("approved by you once")
    call.get_by_role("button").first.click()
    expect(call).to_contain_text("$ echo one two")
    # Who approved it is known after a reload, too.
    page.reload()
    call.get_by_role("button").first.click()
    expect(call).to_contain_text("approved by you once")


def test_always_is_for_this_chat(page: Page, person: Person) -> None:
    chat = asked(page, person, ECHO)
    asks(page).get_by_role("button", name="Always allow execute in this chat").click()
    expect(answers(page).last).to_contain_text("one two")
    person.post(f"chats/{chat}/messages", {"content": ECHO.replace("one two", "once more")})
    expect(answers(page).last).to_contain_text("once more")
    expect(asks(page)).to_have_count(0)


def test_a_refusal_is_told_to_the_agent_with_its_reason(page: Page, person: Person) -> None:
    asked(page, person, ECHO)
    asks(page).get_by_role("button", name="No, because…").click()
    page.get_by_label("Why not?").fill("use printf")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("call")).to_have_attribute("data-state", "denied")
    expect(answers(page).last).to_contain_text("use printf")


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
    form.get_by_label("Something else").last.fill("Plan 9")
    form.get_by_role("button", name="Answer").click()
    expect(answers(page).last).to_contain_text("Plan 9")
    expect(answers(page).last).to_contain_text("BSD")


def test_a_plan_is_sent_back_and_accepted(page: Page, person: Person) -> None:
    plan = call("propose_plan", plan="# The plan\n\n1. Do it.")
    asked(page, person, f"{plan}\n{plan}\nsay: I heard {{result}}")
    expect(asks(page).get_by_role("heading", name="The plan")).to_be_visible()
    asks(page).get_by_label("What should be different?").fill("slower")
    asks(page).get_by_role("button", name="Send back").click()
    expect(page.get_by_test_id("call")).to_have_count(2)
    asks(page).get_by_role("button", name="Accept the plan").click()
    expect(answers(page).last).to_contain_text('"accepted":true')
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
    page.get_by_role("link", name="Open its chat").first.click()
    page.wait_for_url(re.compile(f"/chats/(?!{chat['id']})"))
    expect(page.get_by_role("heading", name="scout")).to_be_visible()
