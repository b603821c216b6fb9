import { expect, test } from "vitest";
import { piecesOf, requestDiff } from "./requestDiff";

const said = (role: string, text: string) => ({
  role,
  parts: [{ type: "text", text, text_length: text.length }],
});
const step = (system: string, ...messages: ReturnType<typeof said>[]) => ({
  request: { model: "m", left_out: messages.length, system: [{ text: system }], messages },
});

test("what was added since the step before", () => {
  const before = step("Be kind.", said("user", "Hello"));
  const after = step("Be kind.", said("user", "Hello"), said("assistant", "Hi"), said("user", "Hello"));
  expect(requestDiff(before, after)).toEqual({
    added: [
      { label: "assistant", text: "Hi", brief: "Hi" },
      { label: "user", text: "Hello", brief: "Hello" },
    ],
    removed: [],
  });
});

test("another system prompt is both", () => {
  const { added, removed } = requestDiff(step("Old"), step("New"));
  expect([removed, added]).toEqual([
    [{ label: "system", text: "Old", brief: "Old" }],
    [{ label: "system", text: "New", brief: "New" }],
  ]);
});

test("a call and its result are named on one line", () => {
  const call = { type: "tool_call", call_id: "1", name: "read_file", input: { path: "a.md" } };
  const result = { type: "tool_result", call_id: "1", name: "read_file", output: "one\ntwo" };
  const pieces = piecesOf({
    request: {
      messages: [
        { role: "assistant", parts: [call] },
        { role: "tool", parts: [result] },
      ],
      tools: ["read_file", "grep"],
    },
  });
  expect(pieces.map(piece => piece.brief)).toEqual([
    "read_file, grep",
    'read_file {"path":"a.md"}',
    "one two",
  ]);
});
