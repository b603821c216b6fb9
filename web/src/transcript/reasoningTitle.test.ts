import { expect, test } from "vitest";
import { reasoningTitle } from "./reasoningTitle";

const thought = (text: string, title: string | null = null) => ({
  type: "reasoning" as const,
  text,
  title,
  started_at: null,
  finished_at: null,
});

test.each([
  ["the server's word", thought("whatever", "Plan"), "Plan"],
  ["a bold line that is closed", thought("**Reading the file**\n\nI"), "Reading the file"],
  ["a bold line that is still open", thought("**Reading the"), null],
  ["plain text while it streams", thought("I think that"), null],
  ["nothing", thought(""), null],
])("%s", (_, part, expected) => {
  expect(reasoningTitle(part)).toBe(expected);
});
