import { expect, test } from "vitest";
import type { ChangedSegment } from "@/api/schema";
import { changesOf, headOf } from "./changes";

const segment = (
  kind: ChangedSegment["kind"],
  label: string,
  text: string | null = null,
): ChangedSegment => ({
  kind,
  label,
  tokens: 1,
  message_id: null,
  text,
});

test("what has the same name stands side by side, messages do not", () => {
  const [base, tools, said] = [
    segment("system", "base", "a"),
    segment("tools", "tools (2)"),
    segment("message", "user: x"),
  ];
  const [other, more, again] = [
    segment("system", "base", "b"),
    segment("tools", "tools (3)"),
    segment("message", "user: x"),
  ];
  expect(changesOf([base, tools, said], [again, more, other])).toEqual([
    { before: base, after: other },
    { before: tools, after: more },
    { before: said, after: null },
    { before: null, after: again },
  ]);
});

test("a message reads like what was said", () => {
  expect(headOf(segment("message", "tool: write_file", "write_file: succeeded\nwrote a.md"))).toBe(
    "tool: write_file: succeeded",
  );
  expect(headOf(segment("message", "tool: write_file"))).toBe("tool: write_file");
  expect(headOf(segment("system", "base", "You are"))).toBe("base");
});
