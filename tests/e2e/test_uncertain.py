"""A call that was running when the server was killed: its outcome is unknown, and a person says
how to go on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Playwright, expect

from tests.e2e.conftest import Opens
from tests.e2e.conversing import answers, asks, log
from tests.e2e.guard import Guard
from tests.e2e.server import Person, Server
from tests.e2e.workspace import Workspace, make_workspace

# Says that it began, and ends once it may: until then it is in the middle of what it does.
COMMAND = "echo ran >> effects; while ! test -e go; do sleep 0.1; done; date +in-the-year-%Y"
SCRIPT = f'call: execute {{"command": "{COMMAND}", "timeout_seconds": 600}}\nsay: I was told: {{result}}'


@pytest.fixture
def asking_server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path, config='[tools]\non_uncertain = "ask"\n')
    server.start()
    yield server
    server.stop()


def cut_short(playwright: Playwright, server: Server) -> tuple[Person, Workspace, str]:
    """A chat whose command was running when the server was killed; it is up again."""
    person = Person(playwright, server, server.admin_token)
    workspace = make_workspace(person, {"README.md": "here"}, git=False)
    chat = person.start_chat(SCRIPT, workspace_id=workspace.id, tools={"execute": "allow"})
    effects = workspace.path / "effects"
    person.until(chat["id"], lambda _: effects.exists())
    server.kill()
    server.start()
    person.until(chat["id"], lambda one: one["status"] in ("idle", "requires_action"))
    return person, workspace, chat["id"]


def runs(workspace: Workspace) -> int:
    return (workspace.path / "effects").read_text().count("ran")


def shown(opens: Opens, person: Person, chat_id: str) -> Page:
    page = opens(person)
    page.goto(f"/chats/{chat_id}")
    expect(asks(page)).to_contain_text("This command may or may not have finished")
    expect(asks(page)).to_contain_text("echo ran >> effects")
    return page


def test_it_is_run_again_when_a_person_says_so(
    asking_server: Server, opens: Opens, guards: list[Guard], playwright: Playwright
) -> None:
    person, workspace, chat_id = cut_short(playwright, asking_server)
    page = shown(opens, person, chat_id)
    # It may come too early, is refused then, and waits by itself.
    guards[0].allow(r"status of 409")
    expect(page.get_by_test_id("status")).to_contain_text("Needs you")
    assert runs(workspace) == 1, "nothing unsafe is repeated by itself"
    (workspace.path / "go").touch()
    asks(page).get_by_role("button", name="Run again").click()
    expect(answers(page).last).to_contain_text("in-the-year-2")
    expect(asks(page)).to_have_count(0)
    expect(page.get_by_test_id("call")).to_have_attribute("data-state", "succeeded")
    assert runs(workspace) == 2
    person.close()


def test_it_is_skipped(asking_server: Server, opens: Opens, playwright: Playwright) -> None:
    person, workspace, chat_id = cut_short(playwright, asking_server)
    page = shown(opens, person, chat_id)
    asks(page).get_by_role("button", name="Skip").click()
    expect(page.get_by_test_id("call")).to_have_attribute("data-state", "cancelled")
    expect(answers(page).last).to_contain_text("I was told")
    expect(asks(page)).to_have_count(0)
    # What was decided, by whom and when stays with the call, also after a reload.
    for _ in range(2):
        page.get_by_test_id("call").get_by_role("button").first.click()
        expect(page.get_by_test_id("call")).to_contain_text("Outcome unknown; skipped by you, ")
        page.reload()
    assert runs(workspace) == 1
    person.close()


def test_where_the_agent_was_told_a_person_may_still_say_that_it_was_done(
    own_server: Server, opens: Opens, playwright: Playwright
) -> None:
    person, workspace, chat_id = cut_short(playwright, own_server)
    page = shown(opens, person, chat_id)
    expect(answers(page).last).to_contain_text("I was told")
    asks(page).get_by_role("button", name="It finished").click()
    expect(log(page).get_by_text("You told the agent how a call ended")).to_be_visible()
    expect(page.get_by_test_id("call")).to_contain_text("Outcome unknown; marked as finished by you, ")
    expect(asks(page)).to_have_count(0)
    assert runs(workspace) == 1
    person.close()
