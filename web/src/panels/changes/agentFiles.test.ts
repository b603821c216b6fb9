import { expect, test } from "vitest";
import type { ChangeShown } from "@/api/schema";
import { fileOf, treeOf, uncommented, verbsOf } from "./agentFiles";

const change = (path: string, more: Partial<ChangeShown> = {}): ChangeShown => ({
  id: path,
  chat_id: "c",
  path,
  operation: "edit",
  additions: 1,
  deletions: 1,
  diff: `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-a\n+b\n`,
  diff_hash: "h",
  hunks: 1,
  diff_left_out: false,
  turn: 1,
  step: 1,
  state: "applied",
  agent: null,
  message_id: null,
  old_path: null,
  collisions: [],
  advice: [],
  decided_by: null,
  decided_at: null,
  ...more,
});

test("a change is a file with its hunks", () => {
  expect(fileOf(change("src/a.py"))).toMatchObject({ path: "src/a.py", status: "changed", added: 1 });
  expect(fileOf(change("b", { operation: "rename", old_path: "a", diff: "", hunks: 0 }))).toMatchObject({
    oldPath: "a",
    status: "renamed",
    hunks: [],
  });
});

test("directories stand once above their files", () => {
  const rows = treeOf([change("src/b/c.py"), change("src/a.py"), change("z"), change("src/b/d.py")]);
  expect(rows.map(row => `${" ".repeat(row.depth)}${row.name}`)).toEqual([
    "src/",
    " a.py",
    " b/",
    "  c.py",
    "  d.py",
    "z",
  ]);
});

test("what nobody commented on", () => {
  expect(uncommented([change("a"), change("b")], [{ path: "a" }])).toEqual(["b"]);
});

test("what may be done follows from the state", () => {
  expect(verbsOf("pending")).toEqual(["apply", "reject"]);
  expect(verbsOf("conflict")).toEqual(["apply", "reject"]);
  expect(verbsOf("applied")).toEqual(["undo"]);
  expect(verbsOf("rejected")).toEqual([]);
});
