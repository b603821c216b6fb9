import { describe, expect, it } from "vitest";
import { markedText } from "@/text/marks";
import { differences, fold, sectionsOf } from "./sections";

describe("what a call is about to do", () => {
  it("of an edit is a diff for each place", () => {
    const edits = [{ path: "a.py", old: "one\ntwo\nthree\n", new: "one\n2\nthree\n" }];
    expect(sectionsOf("edit_files", { edits })).toEqual([
      {
        kind: "diff",
        label: "a.py",
        lines: [
          { kind: "same", text: "one" },
          { kind: "removed", text: "two" },
          { kind: "added", text: "2" },
          { kind: "same", text: "three" },
        ],
      },
    ]);
  });

  it("of a command has its directory and timeout, and every other field", () => {
    expect(sectionsOf("execute", { command: "make", env: { A: "1" } })).toEqual([
      { kind: "text", label: "command", text: "make" },
      { kind: "value", label: "directory", text: "." },
      { kind: "value", label: "timeout", text: "30 s" },
      { kind: "value", label: "env.A", text: "1" },
    ]);
  });

  it("of a program and its arguments is what one would type", () => {
    const [first] = sectionsOf("execute", { args: ["git", "log", "--grep", "it's $5"] });
    expect(first).toEqual({ kind: "text", label: "command", text: `git log --grep 'it'"'"'s $5'` });
  });

  it("of any other tool is a form, nothing left out", () => {
    const input = { query: "x", deep: { a: { b: { c: 1 } } }, list: ["p", "q"], none: null, empty: {} };
    const shown = sectionsOf("mcp__search", input)
      .map(section => `${section.label}=${section.kind === "diff" ? "" : section.text.replace(/\s+/g, " ")}`)
      .join("; ");
    expect(shown).toBe('query=x; deep.a.b={ "c": 1 }; list=p q; none=null; empty={}');
  });
});

describe("folding", () => {
  it("says how many lines are not shown", () => {
    const command = `echo harmless${"\n".repeat(120)}rm -rf ~`;
    const [section] = sectionsOf("execute", { command });
    expect(section && fold(section).hidden).toBe(121 - 24);
    expect(section && JSON.stringify(fold(section).section)).not.toContain("rm -rf");
  });

  it("counts one line that is very long, and leaves what is short alone", () => {
    expect(fold({ kind: "text", label: "x", text: "y".repeat(10_000) }).hidden).toBe(1);
    expect(fold({ kind: "text", label: "x", text: "a\nb" }).hidden).toBe(0);
  });
});

it("differences are the fewest lines, in order, and make both texts again", () => {
  const [old, now] = [
    ["a", "b", "c", "d"],
    ["a", "x", "c", "y", "d"],
  ];
  const lines = differences(old, now);
  expect(lines.filter(line => line.kind !== "added").map(line => line.text)).toEqual(old);
  expect(lines.filter(line => line.kind !== "removed").map(line => line.text)).toEqual(now);
  expect(lines.filter(line => line.kind === "same")).toHaveLength(3);
});

it("characters that turn or hide text are marked as what they are", () => {
  expect(markedText("rm \u202e-rf\u200b /\n\ta\u00a0b")).toBe("rm ⟨U+202E⟩-rf⟨U+200B⟩ /\n\ta⟨U+00A0⟩b");
});
