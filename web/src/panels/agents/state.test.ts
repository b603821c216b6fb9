import { expect, test } from "vitest";
import type { Chat } from "@/api/schema";
import { usage } from "@/panels/spans.sample";
import { inOrder, stateOf, workedMs } from "./state";

function agent(change: Partial<Chat>): Chat {
  return {
    id: "a",
    title: "",
    summary: "",
    status: "idle",
    waiting: null,
    archived: false,
    model: null,
    effort: null,
    owner_id: "u",
    parent_id: "p",
    parent_call_id: null,
    root_id: "p",
    run_id: null,
    origin: { kind: "chat", chat_id: "p", call_id: null },
    workspace_id: null,
    labels: [],
    pinned: false,
    version: 1,
    history_version: 1,
    queue_length: 0,
    last_error: null,
    retry: null,
    action: null,
    budget: null,
    usage: usage(),
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:05Z",
    last_turn: null,
    children: 0,
    max_steps: null,
    provider_tools: null,
    debug: false,
    web: true,
    mode: "build",
    writes: "direct",
    ...change,
  };
}

test.each([
  [{ status: "running" }, "working"],
  [{ status: "running", waiting: "children" }, "waiting"],
  [{ status: "running", waiting: "capacity" }, "waiting"],
  [{ status: "interrupting" }, "working"],
  [{ status: "requires_action" }, "needs_you"],
  [{ status: "error" }, "failed"],
  [{ status: "idle" }, "done"],
  [{ status: "idle", last_turn: { outcome: "interrupted", finished_at: "2026-01-01T00:00:00Z" } }, "stopped"],
  [{ status: "idle", last_turn: { outcome: "failed", finished_at: "2026-01-01T00:00:00Z" } }, "failed"],
  [{ status: "idle", waiting: "held" }, "waiting"],
] as const)("%o is %s", (change, state) => expect(stateOf(agent(change))).toBe(state));

test("one that ended worked until its end, one that works until now", () => {
  const now = Date.parse("2026-01-01T00:01:00Z");
  expect(workedMs(agent({}), now)).toBe(5000);
  expect(workedMs(agent({ status: "running" }), now)).toBe(60_000);
});

test("those that do something come first, then in the order of their start", () => {
  const agents = [
    agent({ id: "2", created_at: "2026-01-01T00:00:02Z" }),
    agent({ id: "1", created_at: "2026-01-01T00:00:01Z" }),
    agent({ id: "3", created_at: "2026-01-01T00:00:03Z", status: "requires_action" }),
  ];
  expect(inOrder(agents).map(one => one.id)).toEqual(["3", "1", "2"]);
});
