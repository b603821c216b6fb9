"""Flows in the browser: started from a form, drawn as a graph and as a table, approved where they stand."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.axe import violations
from tests.e2e.server import Person
from tests.e2e.test_panels import open_panel
from tests.e2e.workspace import make_workspace

FLOW = """\
name: greet
description: Greets, if somebody approves
args: {type: object, required: [who], properties: {who: {type: string}}}
steps:
  - {id: hello, kind: agent, title: Say hello, prompt: "say: Hello {{ args.who }}"}
  - {id: way, kind: switch, deps: [hello], cases: [{label: polite, when: results.hello | length > 3, steps: [ok]}], default: [rude]}
  - {id: rude, kind: agent, deps: [way], prompt: never}
  - {id: ok, kind: approval, title: Send it?, deps: [way], text: "Send: {{ results.hello }}"}
  - {id: sent, kind: code, deps: [ok, rude], trigger_rule: none_failed, python: "return results['hello'] + '!'"}
report: "{{ results.sent }}"
output: greeting.md
"""  # noqa: E501


def test_a_flow_is_started_watched_and_approved(page: Page, person: Person) -> None:
    workspace = make_workspace(person, {".holdfast/flows/greet.yaml": FLOW})
    chat = person.finished_chat("say: hello", workspace_id=workspace.id)
    panel = open_panel(page, chat["id"], "Flows")
    panel.get_by_role("button", name=re.compile("^greet")).click()
    panel.get_by_label("who").fill("Ann")
    expect(panel.get_by_test_id("flow-graph")).to_contain_text("Say hello")
    panel.get_by_role("button", name="Run", exact=True).click()
    expect(panel).to_contain_text("Send: Hello Ann")
    graph = panel.get_by_test_id("flow-graph")
    expect(graph).to_contain_text("Send it?")
    expect(graph.get_by_role("img", name="waiting")).to_be_visible()
    graph.get_by_text("Say hello").click()
    expect(panel.get_by_role("link", name="Open its chat")).to_be_visible()
    graph.get_by_text("Send it?").click()
    panel.get_by_label("Note").fill("Go on")
    panel.get_by_role("button", name="Approve", exact=True).click()
    expect(panel).to_contain_text("Hello Ann!")
    expect(panel.get_by_role("link", name="greeting.md")).to_be_visible()
    panel.get_by_role("button", name="Show as table").click()
    table = panel.get_by_role("table")
    expect(table.get_by_role("row", name=re.compile("^rude"))).to_contain_text("not chosen")
    expect(table.get_by_role("row", name=re.compile("^Send it"))).to_contain_text("succeeded")
    assert violations(page, "[role=tabpanel]") == []
    panel.get_by_role("button", name="Show as graph").click()
    control = graph.get_by_role("button", name="Zoom In")
    expect(control).to_have_css("background-color", "rgb(255, 255, 255)")
    page.emulate_media(color_scheme="dark")
    expect(control).to_have_css("background-color", "rgb(30, 33, 38)")
