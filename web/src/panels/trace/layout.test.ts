import { expect, test } from "vitest";
import type { Span } from "@/api/schema";
import { at, span, turn } from "@/panels/spans.sample";
import { EVERYTHING, type Folds, grouped, lasted, looksAt, type Row, rowsOf } from "./layout";

const keys = (rows: readonly Row[]) => rows.map(row => row.key);
const NONE: Folds = new Map();

test("turns are groups, the newest first, whatever the order of their spans", () => {
  const groups = grouped([...turn(2, 10), ...turn(1)].reverse());
  expect(groups.map(group => group.turn)).toEqual([2, 1]);
  expect(groups[1]?.span?.input).toBe("Do it");
  expect(groups[1]?.nodes.map(node => node.span.id)).toEqual(["step-1-1"]);
  expect(groups[1]?.nodes[0]?.children.map(node => node.span.id)).toEqual(["model-1-1", "call-1"]);
});

test("totals count each thing once: a step is its model call with the tools", () => {
  const [group] = grouped(turn(1, 0, "failed"));
  expect(group?.totals).toEqual({ spans: 2, tools: 1, tokens: 1050, costMicros: 3000, errors: 1 });
});

test("a step lasts until its tools are done, and goes on while one of them does", () => {
  const ended = grouped(turn(1))[0]?.nodes[0]?.extent;
  expect(ended).toEqual({ start: Date.parse(at(0)), end: Date.parse(at(3)) });
  const going = grouped(turn(1, 0, null))[0]?.nodes[0]?.extent;
  expect(going?.end).toBeNull();
  expect(going && lasted(going, Date.parse(at(9)))).toBe(9000);
});

/** A turn whose tool call waits for a person since the third second. */
function asking(more: readonly Span[] = []): Span[] {
  const [own, step, model, call] = turn(1).map(one =>
    one.kind === "turn"
      ? { ...one, finished_at: null }
      : one.kind === "tool_call"
        ? { ...one, started_at: null, finished_at: null, outcome: null }
        : { ...one, finished_at: at(3) },
  ) as [Span, Span, Span, Span];
  return [own, step, model, call, ...more];
}

test("a call that a person is asked about waits since the model asked for it", () => {
  const [group] = grouped(asking(), new Set(["call-1"]));
  expect(group?.waitsSince).toBe(Date.parse(at(3)));
  const [step] = group?.nodes ?? [];
  expect(step?.waits).toBe(true);
  expect(step?.extent).toEqual({ start: Date.parse(at(0)), end: null });
  expect(step?.children.map(node => [node.span.id, node.waits])).toEqual([
    ["model-1-1", false],
    ["call-1", true],
  ]);
  expect(step?.children[1]?.extent).toEqual({ start: Date.parse(at(3)), end: null });
  // Answered, or never asked: nothing waits.
  expect(grouped(asking())[0]?.waitsSince).toBeNull();
});

test("a turn does not rest while anything in it goes on", () => {
  const running = { ...(turn(1, 0, null)[3] as Span), id: "call-2" };
  expect(grouped(asking([running]), new Set(["call-1"]))[0]?.waitsSince).toBeNull();
  const ended = { ...running, finished_at: at(7), outcome: "succeeded" };
  expect(grouped(asking([ended]), new Set(["call-1"]))[0]?.waitsSince).toBe(Date.parse(at(7)));
});

test("a turn whose own span is not known lasts as long as what is in it", () => {
  const [group] = grouped(turn(1).filter(one => one.kind !== "turn"));
  expect(group?.span).toBeNull();
  expect(group?.extent).toEqual({ start: Date.parse(at(0)), end: Date.parse(at(3)) });
});

test("a span whose parent is not known stands at the top", () => {
  const [group] = grouped([span({ id: "call-9", kind: "tool_call", parent_id: "step-gone" })]);
  expect(group?.nodes.map(node => node.span.id)).toEqual(["call-9"]);
});

test("only the newest turn is unfolded at first, until a person says otherwise", () => {
  const groups = grouped([...turn(1), ...turn(2, 10)]);
  expect(keys(rowsOf(groups, NONE, EVERYTHING))).toEqual([
    "turn-2",
    "step-2-1",
    "model-2-1",
    "call-2",
    "turn-1",
  ]);
  expect(
    keys(
      rowsOf(
        groups,
        new Map([
          ["turn-1", true],
          ["turn-2", false],
        ]),
        EVERYTHING,
      ),
    ),
  ).toEqual(["turn-2", "turn-1", "step-1-1", "model-1-1", "call-1"]);
  expect(keys(rowsOf(groups, new Map([["step-2-1", false]]), EVERYTHING))).toEqual([
    "turn-2",
    "step-2-1",
    "turn-1",
  ]);
});

test("a turn that was folded stays so when another one begins", () => {
  const folds = new Map([["turn-1", false]]);
  expect(keys(rowsOf(grouped(turn(1)), folds, EVERYTHING))).toEqual(["turn-1"]);
  const rows = rowsOf(grouped([...turn(1), ...turn(2, 10)]), folds, EVERYTHING);
  expect(keys(rows).at(-1)).toBe("turn-1");
});

test("what is looked for is shown with what it stands in, in every turn", () => {
  const groups = grouped([...turn(1), ...turn(2, 10)]);
  const words = { ...EVERYTHING, words: "DURABLE" };
  expect(keys(rowsOf(groups, NONE, words))).toEqual([
    "turn-2",
    "step-2-1",
    "call-2",
    "turn-1",
    "step-1-1",
    "call-1",
  ]);
  expect(rowsOf(groups, NONE, { ...EVERYTHING, words: "nowhere" })).toEqual([]);
  const models = { ...EVERYTHING, kinds: new Set(["model_call"] as const) };
  expect(keys(rowsOf(groups, NONE, models))).toEqual([
    "turn-2",
    "step-2-1",
    "model-2-1",
    "turn-1",
    "step-1-1",
    "model-1-1",
  ]);
});

test("only what failed", () => {
  const groups = grouped([...turn(1, 0, "uncertain"), ...turn(2, 10)]);
  expect(keys(rowsOf(groups, NONE, { ...EVERYTHING, failedOnly: true }))).toEqual([
    "turn-1",
    "step-1-1",
    "call-1",
  ]);
});

test("of many turns only the one that moved is laid out anew", () => {
  const [older, newer] = [turn(1), turn(2, 10, null)];
  const before = grouped([...older, ...newer]);
  const after = grouped([...older, ...newer.slice(0, -1), ...turn(2, 10).slice(-1)]);
  expect(after[1]).toBe(before[1]);
  expect(after[0]).not.toBe(before[0]);
  expect(after[0]?.nodes[0]?.extent?.end).toBe(Date.parse(at(13)));
});

test.each([
  [999, "tool_call", "good"],
  [1000, "tool_call", "soft"],
  [5000, "tool_call", "warn"],
  [60_000, "tool_call", "bad"],
  [60_000, "model_call", "warn"],
  [60_000, "turn", "warn"],
  [600_000, "turn", "bad"],
] as const)("%i ms of a %s look %s", (milliseconds, kind, look) =>
  expect(looksAt(milliseconds, kind)).toBe(look),
);
