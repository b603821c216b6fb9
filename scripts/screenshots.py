"""Takes pictures of every screen of the page, and of what is opened on them, in light and dark, at 1440 and
at 390 pixels, with the demo model. `--into DIRECTORY` says where; without it, only those are taken that the
documents show."""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.e2e import states  # noqa: E402
from tests.e2e.conftest import FLAGS, PATIENCE_MS, PHONE, WIDE, chromium, sign_in  # noqa: E402
from tests.e2e.screens import SCREENS, prepared  # noqa: E402
from tests.e2e.server import Person, Server  # noqa: E402

Picture = tuple[str, str, int]
# Brings a page to what its picture is of.
Show = Callable[[Page], None]
PICTURES = ROOT / "docs" / "pictures"
# The few that documents show; the others are for looking at.
SHOWN = {("chat", "light", 1440), ("trace", "dark", 1440), ("list", "light", 390)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=None)
    parser.add_argument("screens", nargs="*", metavar="SCREEN")
    given = parser.parse_args()
    wanted = [
        (name, theme, size["width"])
        for name in given.screens or [*SCREENS, *states.STATES]
        for theme in ("light", "dark")
        for size in (WIDE, PHONE)
    ]
    if given.into is None:
        wanted = [picture for picture in wanted if picture in SHOWN]
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        server = Server(Path(directory))
        server.start()
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        who = Person(playwright, server, server.admin_token)
        try:
            shows = _shows(who, {name for name, _, _ in wanted})
            for picture in wanted:
                take(browser, who, shows[picture[0]], picture, given.into or PICTURES)
        finally:
            who.close()
            browser.close()
            server.stop()


def _shows(who: Person, names: set[str]) -> dict[str, Show]:
    scene = prepared(who)
    shows: dict[str, Show] = {}
    for name, screen in SCREENS.items():
        shows[name] = lambda page, show=screen: show(page, scene)
    if names & states.STATES.keys():
        opened = states.prepared(who)
        for name, state in states.STATES.items():
            shows[name] = lambda page, show=state: show(page, opened)
    return shows


def take(browser: Browser, who: Person, show: Show, picture: Picture, into: Path) -> None:
    name, theme, width = picture
    height = (PHONE if width == PHONE["width"] else WIDE)["height"]
    path = into / f"{name.replace(' ', '-')}-{theme}-{width}.png"
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
        base_url=who.server.address,
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MS)
    sign_in(context, who)
    page = context.new_page()
    show(page)
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    page.wait_for_timeout(300)
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)
    context.close()
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
