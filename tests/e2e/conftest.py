"""A real server with the demo model, a real browser, and for every test a person and a page of their own."""

import itertools
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from tests.e2e.guard import Guard
from tests.e2e.server import PATIENCE_SECONDS, Person, Server

PATIENCE_MS = PATIENCE_SECONDS * 1000
WIDE = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
# As root there is no sandbox; containers have a small /dev/shm and no graphics.
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/e2e" in str(item.path):
            item.add_marker(pytest.mark.heavy)
            item.add_marker(pytest.mark.timeout(300))


def chromium() -> str:
    """The system's browser."""
    named = os.environ.get("HOLDFAST_TEST_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        pytest.fail(
            "There is no Chromium to test the page in: install one (Debian: apt-get install chromium), "
            "or name it in HOLDFAST_TEST_CHROMIUM.",
            pytrace=False,
        )
    return found


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Shared: a test that stops it takes `own_server`."""
    server = Server(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    server.start()
    yield server
    server.stop()


_numbers = itertools.count(1)


@pytest.fixture
def person(playwright: Playwright, server: Server) -> Iterator[Person]:
    """Somebody new, whose list of chats is empty."""
    admin = Person(playwright, server, server.admin_token)
    made = admin.post("users", {"name": f"person-{next(_numbers)}"})
    admin.close()
    nobody = playwright.request.new_context(base_url=server.address)
    signed_in = nobody.post("/api/v1/session", data={"token": made["sign_in_token"]})
    assert signed_in.ok, signed_in.text()
    token = nobody.post(
        "/api/v1/tokens",
        data={"name": "test", "scopes": ["chats:read", "chats:write"]},
        headers={"Origin": server.address},
    )
    assert token.ok, token.text()
    person = Person(playwright, server, token.json()["secret"])
    nobody.dispose()
    yield person
    person.close()


@pytest.fixture
def admin(playwright: Playwright, server: Server) -> Iterator[Person]:
    person = Person(playwright, server, server.admin_token)
    yield person
    person.close()


@pytest.fixture
def own_admin(playwright: Playwright, own_server: Server) -> Iterator[Person]:
    person = Person(playwright, own_server, own_server.admin_token)
    yield person
    person.close()


Opens = Callable[..., Page]


@pytest.fixture
def guards() -> list[Guard]:
    return []


@pytest.fixture
def opens(browser: Browser, guards: list[Guard]) -> Generator[Opens]:
    """Opens pages: `opens(person, size=PHONE, theme="dark")`. Every one is guarded."""
    contexts: list[BrowserContext] = []

    def opened(who: Person, *, size: dict[str, int] = WIDE, theme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": size["width"], "height": size["height"]},
            color_scheme="dark" if theme == "dark" else "light",
            base_url=who.server.address,
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        guards.append(Guard(context, who.server.address))
        sign_in(context, who)
        return context.new_page()

    yield opened
    for context in contexts:
        context.close()
    for guard in guards:
        guard.check()


def sign_in(context: BrowserContext, who: Person) -> None:
    answer = context.request.post(f"{who.server.address}/api/v1/session", data={"token": who.token})
    assert answer.ok, answer.text()


@pytest.fixture
def page(opens: Opens, person: Person) -> Page:
    """A page of somebody new, signed in."""
    return opens(person)


@pytest.fixture
def guard(page: Page, guards: list[Guard]) -> Guard:
    """Of `page`: to allow what a test does on purpose."""
    return guards[0]
