import { expect, test } from "vitest";
import { at, message, span, usage } from "@/panels/spans.sample";
import { missOf, since } from "./since";

const first = span({
  id: "model-1-1",
  kind: "model_call",
  name: "one",
  message_id: "m2",
  usage: usage({ input: 1000, cache_write: 1000 }),
});
const second = span({
  id: "model-1-2",
  kind: "model_call",
  name: "one",
  message_id: "m4",
  started_at: at(3),
  finished_at: at(4),
  usage: usage({ input: 1500, cache_read: 100 }),
});
const history = [
  message({ id: "m1", role: "user" }),
  message({
    id: "m2",
    role: "assistant",
    parts: [{ type: "tool_call", call_id: "c", name: "list", input: {}, provider_executed: false }],
  }),
  message({ id: "m3", role: "tool" }),
  message({ id: "m3b", role: "system", visibility: "user" }),
  message({ id: "m4", role: "assistant" }),
];

test("the first request follows none", () => {
  const changed = since(first, [second, first], history);
  expect(changed.before).toBeNull();
  expect(missOf(first, changed)).toBe("first");
});

test("the answer before and what followed it came to the request, but nothing that only people see", () => {
  const changed = since(second, [second, first], history);
  expect(changed.before?.id).toBe("model-1-1");
  expect(changed.added.map(one => [one.role, one.text])).toEqual([
    ["assistant", "list(…)"],
    ["tool", "m3"],
  ]);
  expect(changed.tokens).toBe(500);
  expect(changed.idleMs).toBe(2000);
  expect(changed.unknown).toBe(false);
  expect(missOf(second, changed)).toBeNull();
});

test("history that is not loaded is said to be unknown", () => {
  expect(since(second, [first, second], history.slice(3)).unknown).toBe(true);
});

test("why the cache did not help: another model, a summary, a long pause", () => {
  const other = { ...second, name: "two" };
  expect(missOf(other, since(other, [first, other], history))).toBe("model");
  const summary = span({ id: "step-1-9", kind: "compaction", started_at: at(2), finished_at: at(2.5) });
  expect(missOf(second, since(second, [first, summary, second], history))).toBe("compacted");
  const late = { ...second, started_at: at(900), finished_at: at(901) };
  expect(missOf(late, since(late, [first, late], history))).toBe("idle");
});

test("much from the cache is no miss", () => {
  const hit = { ...second, name: "two", usage: usage({ input: 1000, cache_read: 900 }) };
  expect(missOf(hit, since(hit, [first, hit], history))).toBeNull();
});
