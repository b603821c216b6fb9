"""The first visit: signing in by the link that the server prints, by a pasted token, and out again."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import PATIENCE_MS, Opens
from tests.e2e.guard import Guard
from tests.e2e.server import Person, Server


@pytest.fixture
def stranger(browser: Browser, server: Server) -> Iterator[tuple[Page, Guard]]:
    """A browser that nobody is signed in with."""
    context = browser.new_context(base_url=server.address)
    context.set_default_timeout(PATIENCE_MS)
    guard = Guard(context, server.address)
    yield context.new_page(), guard
    context.close()
    guard.check()


def test_the_link_signs_in_once_and_leaves_no_token_behind(
    stranger: tuple[Page, Guard], admin: Person
) -> None:
    page, guard = stranger
    made = admin.post("users", {"name": "by-link"})
    page.goto(f"/login#token={made['sign_in_token']}")
    expect(page.get_by_role("heading", name="What should the agent do?")).to_be_visible()
    assert "token" not in page.url
    page.go_back()
    assert "token" not in page.url
    guard.allow("401")
    page.context.clear_cookies()
    page.goto(f"/login#token={made['sign_in_token']}")
    expect(page.get_by_role("alert")).to_contain_text("works once")


def test_a_pasted_token_leads_to_where_one_wanted_to_go(stranger: tuple[Page, Guard], person: Person) -> None:
    page, guard = stranger
    guard.allow("401")
    chat = person.finished_chat("say: hello there", title="Wanted")
    page.goto(f"/chats/{chat['id']}")
    page.get_by_label("Sign-in link or token").fill(person.token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile(f"/chats/{chat['id']}"))
    expect(page.get_by_role("log").get_by_text("hello there", exact=True)).to_be_visible()


def test_a_wrong_token_is_told(stranger: tuple[Page, Guard]) -> None:
    page, guard = stranger
    guard.allow("401")
    page.goto("/")
    page.get_by_label("Sign-in link or token").fill("hf_nothing")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not valid")


@pytest.mark.parametrize(
    "name, told",
    [
        ("A tool call", "The file is there"),
        ("Two sub-agents", "Both are done."),
        ("A workflow", "three agents gave their view"),
    ],
)
def test_the_first_visit_offers_things_to_try(page: Page, name: str, told: str) -> None:
    page.goto("/")
    expect(page.get_by_text("built-in demo model")).to_be_visible()
    page.get_by_role("button", name=name).click()
    page.wait_for_url(re.compile("/chats/"))
    expect(page.get_by_role("log").locator("[data-role=assistant]").last).to_contain_text(told)
    listed = page.get_by_role("navigation", name="Chats")
    expect(listed.get_by_role("link", name=name)).to_be_visible()


def test_signing_out_ends_the_session(opens: Opens, person: Person, guards: list[Guard]) -> None:
    page = opens(person)
    guards[0].allow("401")
    page.goto("/")
    page.get_by_role("button", name="Signed in as").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.get_by_label("Sign-in link or token")).to_be_visible()
    page.goto("/")
    expect(page.get_by_label("Sign-in link or token")).to_be_visible()
