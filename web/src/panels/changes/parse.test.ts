import { expect, test } from "vitest";
import { counterparts, differing, pairs, parseDiff } from "./parse";

const CHANGED = `diff --git a/src/app.py b/src/app.py
index 0cfe31f..fce4849 100644
--- a/src/app.py
+++ b/src/app.py
@@ -11,5 +11,6 @@ def two():
 
 def three(value):
-    return value
--- not a header
+    if value < 0:
+        raise ValueError(value)
+    return -value
 
\\ No newline at end of file
`;
const NEW = `--- /dev/null
+++ b/docs/notes.md
@@ -0,0 +1,2 @@
+# Notes
+
`;

test("files, hunks and numbered lines", () => {
  const [file] = parseDiff(CHANGED);
  expect(file).toMatchObject({ path: "src/app.py", status: "changed", added: 3, removed: 2 });
  expect(file?.hunks[0]?.context).toBe("def two():");
  expect(file?.hunks[0]?.lines.map(line => [line.kind, line.old, line.new, line.text])).toEqual([
    ["same", 11, 11, ""],
    ["same", 12, 12, "def three(value):"],
    ["removed", 13, null, "    return value"],
    ["removed", 14, null, "-- not a header"],
    ["added", null, 13, "    if value < 0:"],
    ["added", null, 14, "        raise ValueError(value)"],
    ["added", null, 15, "    return -value"],
    ["same", 15, 16, ""],
  ]);
});

test("a new file needs no line from git, also behind another one", () => {
  const files = parseDiff(CHANGED + NEW + NEW.replace("notes", "more"));
  expect(files.map(file => [file.path, file.status, file.added])).toEqual([
    ["src/app.py", "changed", 3],
    ["docs/notes.md", "added", 2],
    ["docs/more.md", "added", 2],
  ]);
});

test("deleted, renamed, binary, and files with odd names", () => {
  const files = parseDiff(`diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/a.py b/b.py
similarity index 100%
rename from a.py
rename to b.py
diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
diff --git "a/\\303\\244 \\"x\\".md" "b/\\303\\244 \\"x\\".md"
--- "a/\\303\\244 \\"x\\".md"
+++ "b/\\303\\244 \\"x\\".md"
@@ -1 +1 @@
-a
+b
`);
  expect(files.map(file => [file.path, file.status, file.binary])).toEqual([
    ["old.txt", "deleted", false],
    ["b.py", "renamed", false],
    ["logo.png", "changed", true],
    ['ä "x".md', "changed", false],
  ]);
  expect(files[1]?.oldPath).toBe("a.py");
});

test("a diff that was cut in mid-line is shown as far as it goes", () => {
  const [file] = parseDiff(CHANGED.slice(0, CHANGED.indexOf("raise")));
  expect(file?.added).toBe(2);
  expect(parseDiff("")).toEqual([]);
});

test("side by side: what was removed beside what came in its place", () => {
  const lines = parseDiff(CHANGED)[0]?.hunks[0]?.lines ?? [];
  expect(pairs(lines).map(pair => [pair.left?.old ?? null, pair.right?.new ?? null])).toEqual([
    [11, 11],
    [12, 12],
    [13, 13],
    [14, 14],
    [null, 15],
    [15, 16],
  ]);
  expect(counterparts(lines).size).toBe(4);
});

test("what differs within a line", () => {
  expect(differing("return value * 20", "return value + 20")).toEqual([13, 14]);
  expect(differing("same", "same and more")).toEqual([4, 4]);
  expect(differing("entirely", "something else")).toBeNull();
});
