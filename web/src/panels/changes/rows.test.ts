import { expect, test } from "vitest";
import { parseDiff } from "./parse";
import { linesBetween, rowsOf } from "./rows";

const files = parseDiff(`--- a/one.txt
+++ b/one.txt
@@ -5,3 +5,3 @@
 a
-b
+B
 c
--- /dev/null
+++ b/two.txt
@@ -0,0 +1,1 @@
+new
`);
const look = { split: false, toggled: new Set<string>(), comments: [], editing: null };
const kinds = (rows: ReturnType<typeof rowsOf>) => rows.map(row => row.kind);

test("files with their lines, one below the other", () => {
  expect(kinds(rowsOf(files, look))).toEqual([
    "file",
    "hunk",
    "line",
    "line",
    "line",
    "line",
    "file",
    "line",
  ]);
});

test("what begins with the first line leaves nothing out", () => {
  const whole = parseDiff("--- a/one.txt\n+++ b/one.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
  expect(kinds(rowsOf(whole, look))).toEqual(["file", "line", "line", "line"]);
});

test("side by side a changed line is one row", () => {
  expect(kinds(rowsOf(files, { ...look, split: true }))).toEqual([
    "file",
    "hunk",
    "pair",
    "pair",
    "pair",
    "file",
    "pair",
  ]);
});

test("a folded file is its name", () => {
  const rows = rowsOf(files, { ...look, toggled: new Set(["one.txt"]) });
  expect(kinds(rows)).toEqual(["file", "file", "line"]);
});

test("a very long file is folded until it is opened", () => {
  const long = `--- /dev/null\n+++ b/long.txt\n@@ -0,0 +1,500 @@\n${"+x\n".repeat(500)}`;
  expect(rowsOf(parseDiff(long), look)).toHaveLength(1);
  expect(rowsOf(parseDiff(long), { ...look, toggled: new Set(["long.txt"]) })).toHaveLength(501);
});

test("comments and the one that is written stand under the last of their lines, in both looks", () => {
  const [file] = files;
  const [, removed, added] = file?.hunks[0]?.lines ?? [];
  if (file === undefined || removed === undefined || added === undefined) throw new Error("no lines");
  const comment = { id: "c", path: "one.txt", lines: [removed], text: "?" };
  const editing = { path: "one.txt", lines: linesBetween(file, added, removed) };
  expect(editing.lines).toEqual([removed, added]);
  const rows = rowsOf(files, { ...look, comments: [comment], editing });
  expect(kinds(rows).slice(2, 8)).toEqual(["line", "line", "comment", "line", "editor", "line"]);
  const split = rowsOf(files, { ...look, split: true, comments: [comment], editing });
  expect(kinds(split).slice(2, 7)).toEqual(["pair", "pair", "comment", "editor", "pair"]);
});

test("no two rows have the same key", () => {
  for (const split of [false, true]) {
    const keys = rowsOf(files, { ...look, split }).map(row => row.key);
    expect(new Set(keys).size).toBe(keys.length);
  }
});

test("changes of one file that others wrote in between are told apart", () => {
  const [file] = parseDiff("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n");
  if (file === undefined) throw new Error("no file");
  const twice = [
    { ...file, id: "one" },
    { ...file, id: "two" },
  ];
  const rows = rowsOf(twice, {
    split: false,
    toggled: new Set(["two"]),
    comments: [],
    editing: null,
    decided: true,
  });
  expect(new Set(rows.map(row => row.key)).size).toBe(rows.length);
  expect(rows.filter(row => row.kind === "file").map(row => row.kind === "file" && row.open)).toEqual([
    true,
    false,
  ]);
});
