import { expect, test } from "vitest";
import type { CallShown, RunData, RunPhase } from "@/api/schema";
import { isOver, NO_RUN, phasesOf, type RunEvent, type RunState, reduceRun, reusedOf } from "./run";

const T = "2026-01-01T00:00:0";
const budget = { tokens: 100, cost_usd_micros: null, spent_tokens: 0, spent_usd_micros: 0 };
const run: RunData = {
  id: "r",
  name: "review",
  language: "javascript",
  status: "running",
  error: null,
  budget,
  resumed_from: null,
  reuse: null,
  workspace_id: null,
  chat_id: null,
  model: null,
  created_at: `${T}0Z`,
  started_at: `${T}0Z`,
  finished_at: null,
  args: null,
  result: null,
};

const phase = (title: string, started_at: string | null): RunEvent => ({
  event: "phase",
  data: { title, detail: null, model: null, started_at } satisfies RunPhase,
});
const call = (id: string, inPhase: string | null, change: Partial<CallShown> = {}): RunEvent => ({
  event: "call",
  data: {
    id,
    kind: "agent",
    label: id,
    phase: inPhase,
    status: "running",
    needs_you: false,
    reused: false,
    chat_id: null,
    usage: null,
    error: null,
    started_at: `${T}1Z`,
    finished_at: null,
    ...change,
  },
});
const ended = { status: "succeeded", finished_at: `${T}5Z` } as const;
const told = (...events: RunEvent[]): RunState => events.reduce(reduceRun, NO_RUN);

const WHOLE: RunEvent[] = [
  phase("Look", null),
  phase("Write", null),
  { event: "run", data: run },
  phase("Look", `${T}1Z`),
  call("0.1", "Look"),
  call("0.2", "Look"),
  { event: "log", data: { number: 1, kind: "log", text: "hello", at: `${T}1Z` } },
  call("0.1", "Look", ended),
  { event: "budget", data: { ...budget, spent_tokens: 30 } },
  call("0.2", "Look", { ...ended, reused: true }),
  phase("Write", `${T}6Z`),
  call("0.3", "Write"),
  { event: "run", data: { ...run, status: "cancelled", finished_at: `${T}9Z` } },
];

test("being told again, from anywhere, changes nothing", () => {
  const once = told(...WHOLE);
  for (let from = 0; from < WHOLE.length; from++) expect(told(...WHOLE, ...WHOLE.slice(from))).toEqual(once);
  expect(once.calls.map(one => [one.id, one.status])).toEqual([
    ["0.1", "succeeded"],
    ["0.2", "succeeded"],
    ["0.3", "running"],
  ]);
  expect(once.log).toHaveLength(1);
  expect(once.budget?.spent_tokens).toBe(30);
  expect(reusedOf(once)).toBe(1);
});

test("a planned phase is to come, then now, then over", () => {
  const states = (count: number) => phasesOf(told(...WHOLE.slice(0, count))).map(one => one.state);
  expect(states(3)).toEqual(["coming", "coming"]);
  expect(states(5)).toEqual(["now", "coming"]);
  expect(states(10)).toEqual(["now", "coming"]);
  expect(states(11)).toEqual(["over", "now"]);
  expect(states(13)).toEqual(["over", "over"]);
});

test("a phase counts its calls", () => {
  const [look] = phasesOf(told(...WHOLE.slice(0, 8)));
  expect([look?.done, look?.calls.length]).toEqual([1, 2]);
});

test("calls outside of every phase, and in one that was not planned, are shown too", () => {
  const groups = phasesOf(told({ event: "run", data: run }, call("1", null), call("2", "Unplanned")));
  expect(groups.map(group => [group.title, group.calls.length])).toEqual([
    ["", 1],
    ["Unplanned", 1],
  ]);
});

test("which ends are ends", () => {
  expect(
    ["pending", "running", "succeeded", "failed", "cancelled"].map(one => isOver(one as RunData["status"])),
  ).toEqual([false, false, true, true, true]);
});
