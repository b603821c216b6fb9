import { expect, test } from "vitest";
import { pairsIn, wordsIn } from "./mcpWords";

test("a program has a line for each word, and spaces stay inside of one", () => {
  expect(wordsIn("npx\n -y\n\nserver with space \n")).toEqual(["npx", "-y", "server with space"]);
});

test("what is behind the first = is the value, whatever is in it", () => {
  expect(pairsIn("KEY=a=b\nEMPTY=\nnothing\n =x")).toEqual({ KEY: "a=b", EMPTY: "" });
});
