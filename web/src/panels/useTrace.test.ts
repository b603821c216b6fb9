import { expect, test } from "vitest";
import { at, span } from "./spans.sample";
import { merged } from "./useTrace";

const begun = span({ id: "call-1", kind: "tool_call", finished_at: null, outcome: null });
const ended = { ...begun, finished_at: at(2), outcome: "succeeded" };

test("of two reports of a span the one that knows its end counts, whoever made it", () => {
  expect(merged([ended], [begun])).toEqual([ended]);
  expect(merged([begun], [ended])).toEqual([ended]);
});

test("of two that know no end, the one that was told counts", () => {
  const later = { ...begun, output: "so far" };
  expect(merged([begun], [later])).toEqual([later]);
});

test("a step that was given up goes with the end of its turn; an agent that goes on stays", () => {
  const turn = span({ id: "turn-1", kind: "turn", finished_at: null, outcome: null });
  const step = span({ id: "step-1-1", kind: "step", finished_at: null, outcome: null });
  const agent = span({ id: "agent-1", kind: "agent", finished_at: null, outcome: null });
  expect(merged([], [turn, step, agent])).toEqual([turn, step, agent]);
  const over = { ...turn, finished_at: at(3), outcome: "interrupted" };
  expect(merged([over], [turn, step, agent])).toEqual([over, agent]);
});
