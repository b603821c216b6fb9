"""axe finds nothing in what is opened on the screens, and an exported chat is a page to send."""

import pytest
from playwright.sync_api import expect

from tests.e2e.axe import violations
from tests.e2e.conftest import PHONE, WIDE, Opens
from tests.e2e.guard import Guard
from tests.e2e.server import Person
from tests.e2e.states import CODE, EDIT, STATES, prepared
from tests.e2e.test_asking import call
from tests.e2e.workspace import make_workspace


@pytest.mark.parametrize(
    "size, theme", [(WIDE, "light"), (WIDE, "dark"), (PHONE, "dark")], ids=["light", "dark", "phone"]
)
def test_axe_finds_nothing_in_what_is_opened(
    opens: Opens, person: Person, guards: list[Guard], size: dict[str, int], theme: str
) -> None:
    opened = prepared(person)
    page = opens(person, size=size, theme=theme)
    guards[0].allow("404")
    wrong: list[str] = []
    for name, show in STATES.items():
        show(page, opened)
        # A menu floats above everything and is no part of a landmark.
        wrong += [f"{name}: {one}" for one in violations(page, "[role=menu]" if name == "menu" else None)]
    assert not wrong, "\n".join(wrong)


def test_an_exported_chat_is_a_page_to_send(opens: Opens, person: Person) -> None:
    """Our look in one file: rendered, foldable, with the colours of changes; nothing is loaded."""
    workspace = make_workspace(person, {"code.py": CODE})
    work = f"**Please** greet\n{call('edit_files', edits=EDIT)}\nsay: ## Done\n\n  All is well."
    chat = person.finished_chat(work, workspace_id=workspace.id, title="Greets")
    page = opens(person)
    page.goto(f"/chats/{chat['id']}")
    page.get_by_role("button", name="More", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name="Export as HTML").click()
    text = saved.value.path().read_text()
    page.goto("about:blank")
    page.set_content(text)
    expect(page.get_by_role("heading", name="Greets")).to_be_visible()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    expect(page.locator("strong", has_text="Please")).to_be_visible()
    folded = page.locator("details").filter(has_text="code.py").first
    expect(folded).to_be_visible()
    folded.locator("summary").first.click()
    expect(folded.get_by_text('"good day {name}" * 4')).to_be_visible()
    assert violations(page) == []
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
