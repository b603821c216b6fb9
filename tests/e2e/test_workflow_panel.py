"""Workflows in the browser: started from a form, watched, cancelled, and run again with what was finished."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.axe import violations
from tests.e2e.server import Person
from tests.e2e.test_panels import open_panel
from tests.e2e.workspace import make_workspace

SCRIPT = """\
export const meta = {
  name: 'two-steps',
  description: 'One agent, then another that takes its time',
  phases: [{ title: 'First' }, { title: 'Second', detail: 'Slowly' }],
  budget: 5000,
  args: {
    type: 'object',
    required: ['topic'],
    properties: {
      topic: { type: 'string', description: 'What it is about' },
      seconds: { type: 'integer', minimum: 0, maximum: 600, default: 0 },
    },
  },
}
phase('First')
log(`About ${args.topic}`)
const first = await agent(`say: ${args.topic} is good.`, { label: 'quick' })
phase('Second')
const second = await agent(`wait: ${args.seconds}\\nsay: ${first} Very good.`, { label: 'patient' })
return { answer: second }
"""


def begin(page: Page, person: Person) -> Locator:
    workspace = make_workspace(person, {".holdfast/workflows/two-steps.js": SCRIPT})
    chat = person.finished_chat("say: hello", workspace_id=workspace.id)
    panel = open_panel(page, chat["id"], "Workflow")
    panel.get_by_role("button", name=re.compile("^two-steps")).click()
    return panel


def test_a_form_is_checked_and_may_be_json(page: Page, person: Person) -> None:
    panel = begin(page, person)
    panel.get_by_role("button", name="Run", exact=True).click()
    expect(panel.get_by_role("alert")).to_contain_text("Required.")
    panel.get_by_label("topic").fill("Tea")
    panel.get_by_label("seconds").fill("9999")
    expect(panel.get_by_role("alert")).to_contain_text("Outside the allowed range.")
    panel.get_by_label("seconds").fill("0")
    panel.get_by_role("button", name="Edit as JSON").click()
    expect(panel.get_by_label("Arguments")).to_have_value(re.compile('"topic": "Tea"'))
    panel.get_by_text("Script", exact=True).click()
    expect(panel.get_by_text("phase('First')")).to_be_visible()
    assert violations(page, "[role=tabpanel]") == []


def test_a_run_is_watched_to_its_end(page: Page, person: Person) -> None:
    panel = begin(page, person)
    panel.get_by_label("topic").fill("Tea")
    panel.get_by_role("button", name="Run", exact=True).click()
    phases = panel.get_by_role("list", name="Phases")
    expect(phases.get_by_role("link", name="quick")).to_be_visible()
    expect(panel).to_contain_text('"answer": "Tea is good. Very good."')
    expect(panel).to_contain_text("About Tea")
    expect(panel).to_contain_text("of 5K output tokens")
    expect(panel.get_by_role("img", name="succeeded").first).to_be_visible()
    assert violations(page, "[role=tabpanel]") == []
    panel.get_by_role("button", name="All workflows").click()
    expect(panel.get_by_role("region", name="Earlier runs").get_by_role("button")).to_have_count(1)


def test_a_run_is_cancelled_and_run_again_with_what_was_finished(page: Page, person: Person) -> None:
    panel = begin(page, person)
    panel.get_by_label("topic").fill("Tea")
    panel.get_by_label("seconds").fill("600")
    panel.get_by_role("button", name="Run", exact=True).click()
    expect(panel.get_by_role("link", name="patient")).to_be_visible()
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.get_by_role("img", name="cancelled").first).to_be_visible()

    panel.get_by_role("button", name="Run again", exact=True).click()
    expect(panel).to_contain_text("Continues an earlier run")
    expect(panel).to_contain_text("1 of 2 reused")
    page.reload()
    expect(panel).to_contain_text("1 of 2 reused")
    panel.get_by_role("button", name="Cancel").click()

    panel.get_by_role("button", name="More ways to run again").click()
    page.get_by_role("menuitem", name=re.compile("Change arguments")).click()
    expect(panel.get_by_label("topic")).to_have_value("Tea")
    panel.get_by_label("seconds").fill("0")
    panel.get_by_role("button", name="Run", exact=True).click()
    expect(panel).to_contain_text('"answer": "Tea is good. Very good."')
    runs = person.get("workflow-runs")["items"]
    assert [run["status"] for run in runs] == ["succeeded", "cancelled", "cancelled"]
