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
