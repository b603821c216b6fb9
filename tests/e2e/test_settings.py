"""Settings as one expects them: tools picked from a list, browsers that are signed in, who defined what, what
a model takes."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.e2e.axe import violations
from tests.e2e.conftest import Opens, sign_in
from tests.e2e.server import Person


def test_tools_of_an_agent_are_picked_from_a_list(page: Page, person: Person) -> None:
    page.goto("/settings/agents")
    page.get_by_role("button", name="Add an agent").click()
    form = page.get_by_role("dialog", name="Add an agent")
    form.get_by_label("Name").fill("reader")
    expect(form.get_by_label("All tools")).to_be_checked()
    form.get_by_label("Only the tools I choose").check()
    form.get_by_label(re.compile("^read_file")).check()
    form.get_by_label(re.compile("^grep")).check()
    expect(form.get_by_label("Only the tools I choose (2)")).to_be_checked()
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    (made,) = person.get("agents")["items"]
    assert made["tools"] == ["read_file", "grep"]
    # Opened again it is as it was saved.
    page.get_by_role("button", name="Edit reader").click()
    form = page.get_by_role("dialog", name="Agent reader")
    expect(form.get_by_label(re.compile("^grep"))).to_be_checked()
    expect(form.get_by_label(re.compile("^execute"))).not_to_be_checked()
    form.get_by_label("All tools").check()
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    assert person.get("agents")["items"][0]["tools"] is None


def test_browsers_say_what_they_are_and_which_is_this_one(opens: Opens, admin: Person) -> None:
    page = opens(admin)
    other = page.context.browser
    assert other is not None
    elsewhere = other.new_context(
        base_url=admin.server.address,
        user_agent="Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    )
    sign_in(elsewhere, admin)
    page.goto("/settings/tokens")
    browsers = page.locator("section").filter(has=page.get_by_role("heading", name="Signed-in browsers"))
    mine = browsers.get_by_role("listitem").filter(has_text="this one")
    expect(mine).to_have_count(1)
    expect(mine).to_contain_text("from 127.0.0.1")
    expect(mine).to_contain_text(re.compile("last used .*[0-9]:[0-9]{2}"))
    theirs = browsers.get_by_role("listitem").filter(has_text="Firefox on Linux")
    theirs.get_by_role("button", name="Sign out Firefox on Linux").click()
    page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    expect(theirs).to_have_count(0)
    assert elsewhere.request.get("/api/v1/session").status == 401
    elsewhere.close()
    assert page.request.get("/api/v1/session").ok


def test_it_is_said_who_defined_what(opens: Opens, admin: Person) -> None:
    page = opens(admin)
    page.goto("/settings/models")
    expect(page.get_by_role("listitem").filter(has_text="demo").first).to_contain_text("built in")
    page.get_by_role("button", name="Add a provider").click()
    form = page.get_by_role("dialog", name="Add a provider")
    form.get_by_label("Name").fill("mine")
    form.get_by_label("Kind").select_option("demo")
    form.get_by_role("button", name="Save").click()
    page.get_by_role("dialog", name="Add a model").get_by_role("button", name="Cancel").click()
    row = page.get_by_role("listitem").filter(has=page.get_by_text("mine", exact=True))
    expect(row).to_contain_text("added here")
    row.get_by_role("button", name="Remove mine").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)


def test_a_model_says_whether_it_takes_images(opens: Opens, admin: Person, tmp_path: Path) -> None:
    """On at first; off is kept, and a picture is then refused before it is uploaded."""
    page = opens(admin)
    page.goto("/settings/models")
    page.get_by_role("button", name="Add a model").click()
    form = page.get_by_role("dialog", name="Add a model")
    images = form.get_by_role("switch", name="Accepts images")
    expect(images).to_be_checked()
    form.get_by_label("Name").fill("blind")
    form.get_by_label("Provider", exact=True).select_option("demo")
    form.get_by_label("Model id").fill("demo")
    images.click()
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    inputs = {model["name"]: model["inputs"] for model in admin.get("models")["items"]}
    assert inputs["blind"] == ["text"]
    page.goto("/")
    page.get_by_role("button", name=re.compile("^Model")).click()
    page.get_by_role("menuitem", name=re.compile("^blind")).click()
    picture = tmp_path / "a.png"
    Image.new("RGB", (4, 4), "teal").save(picture)
    page.locator("input[type=file]").set_input_files(picture)
    expect(page.get_by_text("The model blind doesn't accept images.")).to_be_visible()
    page.goto("/settings/models")
    page.get_by_role("button", name="Remove blind").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("button", name="Remove blind")).to_have_count(0)


LISTED = b"""{"data": [
    {"id": "maker/keen-eye", "name": "Keen Eye", "context_length": 131072,
     "architecture": {"input_modalities": ["text", "image"]}, "supported_parameters": ["tools"],
     "pricing": {"prompt": "0.000003", "completion": "0.000015"}},
    {"id": "maker/only-text", "context_length": 8192, "architecture": {"input_modalities": ["text"]}}
]}"""


class _Lists(BaseHTTPRequestHandler):
    """A provider that tells which models it has, and nothing else."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(LISTED)))
        self.end_headers()
        self.wfile.write(LISTED)

    def log_message(self, *_: object) -> None:  # pyright: ignore[reportImplicitOverride, reportIncompatibleMethodOverride]
        pass


@pytest.fixture
def provider_address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Lists) as listening:
        thread = Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_address[1]}/v1"
        listening.shutdown()
        thread.join()


def test_a_model_is_picked_from_the_providers_list(
    own_admin: Person, opens: Opens, provider_address: str
) -> None:
    """And brings its context, its inputs, its price and a name."""
    page = opens(own_admin)
    page.goto("/settings/models")
    page.get_by_role("button", name="Add a provider").click()
    form = page.get_by_role("dialog", name="Add a provider")
    form.get_by_label("Name").fill("market")
    form.get_by_label("Kind").select_option("openrouter")
    form.get_by_label("Base URL").fill(provider_address)
    form.get_by_label("API key").fill("a-key-of-the-market")
    form.get_by_role("button", name="Save").click()
    form = page.get_by_role("dialog", name="Add a model")
    expect(form.get_by_label("Provider", exact=True)).to_have_value("market")
    expect(form.get_by_text("It offers 2; choose from the list.")).to_be_visible()
    offered = form.locator("datalist option")
    expect(offered).to_have_count(2)
    form.get_by_label("Model id").fill("maker/only-text")
    expect(form.get_by_role("switch", name="Accepts images")).not_to_be_checked()
    form.get_by_label("Name").fill("")
    form.get_by_label("Model id").fill("maker/keen-eye")
    expect(form.get_by_label("Name")).to_have_value("keen-eye")
    expect(form.get_by_label("Context limit (tokens)")).to_have_value("131072")
    expect(form.get_by_role("switch", name="Accepts images")).to_be_checked()
    expect(form.get_by_text("$3 per million input tokens, $15 per million output tokens.")).to_be_visible()
    assert violations(page, "dialog") == []
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    row = page.get_by_role("listitem").filter(has=page.get_by_text("keen-eye", exact=True))
    expect(row).to_contain_text("131K tokens")
    expect(row).to_contain_text("reads text, images")
    expect(row).to_contain_text("$3 per million input tokens")
