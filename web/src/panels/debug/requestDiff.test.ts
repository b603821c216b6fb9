import { expect, test } from "vitest";
import { requestDiff } from "./requestDiff";

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
      { label: "assistant", text: "Hi" },
      { label: "user", text: "Hello" },
    ],
    removed: [],
  });
});

test("another system prompt is both", () => {
  const { added, removed } = requestDiff(step("Old"), step("New"));
  expect([removed, added]).toEqual([[{ label: "system", text: "Old" }], [{ label: "system", text: "New" }]]);
});
