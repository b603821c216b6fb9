"""What a model is really asked, hooks of a repository, workspaces from templates: as a person meets them."""

import json
import re

from playwright.sync_api import Page, expect

from tests.e2e.outside import bring_templates, guarded_workspace
from tests.e2e.provider import KEY, asked_over_http
from tests.e2e.server import Person
from tests.e2e.test_asking import call
from tests.e2e.test_panels import open_panel


def test_what_a_model_was_asked_is_recorded_once_it_is_switched_on(page: Page, person: Person) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    with asked_over_http(person) as model:
        chat = person.finished_chat("say: Not recorded.", model=model)
        panel = open_panel(page, chat["id"], "Debug")
        expect(panel.get_by_text("Nothing recorded")).to_be_visible()
        panel.get_by_role("switch", name="Record this chat").click()
        expect(panel.get_by_role("switch", name="Record this chat")).to_be_checked()
        said = f"{call('read_file', path='missing.md')}\nsay: It is missing."
        page.get_by_role("textbox", name="Message", exact=True).fill(said)
        page.get_by_role("textbox", name="Message", exact=True).press("Enter")
        run = panel.get_by_role("button", name=re.compile("^Turn 2.*completed"))
        expect(run).to_be_visible()
    expect(panel.get_by_role("button", name=re.compile("^Turn 1"))).to_have_count(0)
    run.press("Enter")
    back = panel.get_by_role("button", name="Back to the list")
    expect(back).to_be_focused()

    # By keyboard: the second step, with what the first had not.
    second = panel.locator("summary").filter(has_text="Step 2")
    second.press("Enter")
    changed = panel.get_by_role("group").filter(has_text='read_file {"path":"missing.md"}')
    expect(changed.first).to_be_visible()
    expect(panel.get_by_role("heading", name="Request", exact=True).last).to_be_visible()
    expect(panel.get_by_role("heading", name="Answer", exact=True).last).to_be_visible()
    attempt = panel.get_by_role("group").filter(has=page.get_by_text("Attempt 1", exact=True)).last
    attempt.locator("summary").first.press("Enter")
    expect(attempt).to_contain_text("/chat/completions")
    expect(attempt).to_contain_text("[redacted]")
    attempt.get_by_role("button", name="Copy as curl").click()
    expect(attempt.locator("svg.lucide-check")).to_be_visible()
    command = page.evaluate("() => navigator.clipboard.readText()")
    assert command.startswith("curl ")
    assert '''-H 'Authorization: Bearer '"$API_KEY"''' in command
    assert KEY not in command

    with page.expect_download() as saved:
        panel.get_by_role("button", name="Save as JSON").click()
    text = saved.value.path().read_text()
    assert [step["number"] for step in json.loads(text)["steps"]] == [1, 2]
    assert KEY not in text
    back.press("Enter")
    expect(run).to_be_focused()


def test_the_record_of_all_chats_is_switched_on_in_settings(page: Page, person: Person) -> None:
    page.goto("/settings/appearance")
    everything = page.get_by_role("switch", name="Record all your chats")
    everything.click()
    expect(everything).to_be_checked()
    chat = person.finished_chat("say: Recorded.")
    panel = open_panel(page, chat["id"], "Debug")
    expect(panel.get_by_role("switch", name="Record all your chats")).to_be_checked()
    panel.get_by_role("button", name=re.compile("^Turn 1.*completed")).click()
    panel.get_by_text("Step 1", exact=True).click()
    expect(panel).to_contain_text("This model is not asked over HTTP by Holdfast itself.")


def test_a_hook_is_listed_with_what_it_said(page: Page, person: Person) -> None:
    workspace = guarded_workspace(person)
    write = f"{call('write_file', path='secret.txt', content='x')}\nsay: I may not."
    chat = person.finished_chat(write, workspace_id=workspace.id, title="Writes a secret")
    assert not (workspace.path / "secret.txt").exists()
    page.goto("/settings/hooks")
    expect(page.get_by_text("None yet. Choose a workspace to see its own.")).to_be_visible()
    page.get_by_label("Include the hooks of a workspace").select_option(label=workspace.path.name)
    row = page.get_by_role("listitem").filter(has_text="before a call of Write")
    expect(row).to_contain_text("objected")
    expect(page.get_by_text("There is no event SessionStart here.")).to_be_visible()
    row.get_by_role("button", name="Try on a sample: sh").click()
    expect(page.get_by_text("It ran and has nothing to say.")).to_be_visible()
    row.get_by_role("button", name="pre_tool sh").press("Enter")
    expect(page.get_by_text("This file is not for agents.")).to_be_visible()
    page.get_by_role("link", name="Open its chat").click()
    expect(page).to_have_url(re.compile(f"/chats/{chat['id']}$"))


def test_a_workspace_is_made_from_a_template_where_a_message_is_written(page: Page, person: Person) -> None:
    bring_templates(person.server)
    page.goto("/")
    message = page.get_by_role("textbox", name="Message", exact=True)
    message.fill("say: I work in it.")
    picker = page.get_by_role("button", name=re.compile("^Workspace: "))
    picker.press("Enter")
    page.get_by_role("menuitem", name="New from a template…").press("Enter")
    form = page.get_by_role("dialog", name="New workspace from a template")
    expect(form.get_by_label("Name")).to_be_focused()
    form.get_by_label("Template", exact=True).select_option("python-service")
    form.get_by_label("Name").fill(f"billing-{person.token[-6:]}")
    form.get_by_label("title").fill("Billing")
    form.get_by_role("button", name="Create").click()
    expect(page.get_by_text("The workspace is ready.")).to_be_visible()
    expect(form).to_have_count(0)
    made = next(one for one in person.get("workspaces")["items"] if one["name"].startswith("billing-"))
    # It is chosen, the message is still there, and the chat works in it.
    expect(page.get_by_role("button", name=f"Workspace: {made['name']}")).to_be_visible()
    expect(message).to_have_value("say: I work in it.")
    page.get_by_role("button", name="Send").click()
    expect(page).to_have_url(re.compile("/chats/"))
    chat = person.get(f"chats/{page.url.rsplit('/', 1)[-1]}")
    assert chat["workspace_id"] == made["id"]
    (title,) = person.server.workspaces.glob(f"{made['name']}*/TITLE")
    assert title.read_text() == "Billing"
