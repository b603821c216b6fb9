"""axe in a page: what it finds wrong with how people who cannot see or point reach things."""

from pathlib import Path
from typing import Any, cast

from playwright.sync_api import Page

SOURCE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
# WCAG 2.2 AA, as the design asks for.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Page, within: str | None = None) -> list[str]:
    """One line for each rule that is broken, with where."""
    # Evaluated, not added as a script: the content security policy allows none.
    page.evaluate(SOURCE.read_text())
    found = cast(
        list[dict[str, Any]],
        page.evaluate(
            """async ([within, tags]) =>
                (await axe.run(within ?? document, { runOnly: tags })).violations
            """,
            [within, TAGS],
        ),
    )
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]
