"""axe finds nothing on any screen, in light and dark, wide and on a phone."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from tests.e2e.conftest import PHONE, WIDE, Opens
from tests.e2e.screens import SCREENS, Scene, prepared
from tests.e2e.server import Person, Server

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def scene(playwright: Playwright, server: Server) -> Scene:
    who = Person(playwright, server, server.admin_token)
    made = prepared(who)
    who.close()
    return made


def judged(page: Page) -> list[str]:
    """What is wrong: the rule, and the first element that breaks it."""
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate(
        "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}, resultTypes: ['violations']})",
        RULES,
    )
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]} ({one['nodes'][0]['failureSummary'][:200]})"
        for one in found["violations"]
    ]


@pytest.mark.parametrize(
    "size, theme",
    [(WIDE, "light"), (WIDE, "dark"), (PHONE, "light"), (PHONE, "dark")],
    ids=["wide-light", "wide-dark", "phone-light", "phone-dark"],
)
def test_axe_finds_nothing(
    opens: Opens, admin: Person, scene: Scene, size: dict[str, int], theme: str
) -> None:
    page = opens(admin, size=size, theme=theme)
    wrong: list[str] = []
    for name, show in SCREENS.items():
        show(page, scene)
        wrong += [f"{name}: {one}" for one in judged(page)]
    assert not wrong, "\n".join(wrong)


def test_axe_finds_nothing_before_signing_in(browser: Browser, server: Server) -> None:
    context = browser.new_context(base_url=server.address)
    page = context.new_page()
    page.goto("/login")
    expect(page.get_by_label("Sign-in link or token")).to_be_visible()
    assert judged(page) == []
    context.close()
