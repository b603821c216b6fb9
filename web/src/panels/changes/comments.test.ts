import { beforeEach, expect, test } from "vitest";
import { dropComment, messageOf, putComment, rangeOf, useComments } from "./comments";
import type { Line } from "./parse";

const lines: Line[] = [
  { kind: "removed", old: 3, new: null, text: "a" },
  { kind: "added", old: null, new: 3, text: "b ```" },
  { kind: "same", old: 4, new: 4, text: "c" },
];
const words = { lead: (count: number) => `${count}:`, where: (path: string, at: string) => `${path} ${at}` };

beforeEach(() => useComments.setState({}, true));

test("the agent reads file, lines, the lines themselves and the comment", () => {
  const comment = { id: "1", path: "x.md", lines, text: "Why?" };
  expect(messageOf([comment], words)).toBe("1:\n\nx.md 3-4\n````diff\n-a\n+b ```\n c\n````\nWhy?");
});

test("one line is no range", () => expect(rangeOf(lines.slice(0, 1))).toBe("3"));

test("comments are kept by chat until they are dropped", () => {
  putComment("a", { id: "1", path: "x", lines, text: "one" });
  putComment("a", { id: "2", path: "x", lines, text: "two" });
  putComment("b", { id: "3", path: "x", lines, text: "three" });
  dropComment("a", "1");
  expect(useComments.getState().a?.map(one => one.text)).toEqual(["two"]);
  expect(useComments.getState().b).toHaveLength(1);
});
