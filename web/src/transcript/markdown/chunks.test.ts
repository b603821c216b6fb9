import { describe, expect, it } from "vitest";
import { chunksOf, cutAt, definitionsOf, LONGEST_CHUNK } from "./chunks";

const texts = (text: string) => chunksOf(text).map(chunk => chunk.text);

describe("pieces of a text", () => {
  it("are cut where nothing goes on, and are the whole text together", () => {
    const text = "# One\n\ntwo\nthree\n\nfour\n";
    expect(texts(text)).toEqual(["# One\n\n", "two\nthree\n\n", "four\n"]);
  });

  it.each([
    ["code", "```\na\n\nb\n```\n"],
    ["a list", "- a\n\n- b\n\n  more of b\n"],
    ["a numbered list", "1. a\n\n2. b\n"],
    ["a quote", "> a\n\n> b\n"],
    ["a formula", "$$\nx\n\ny\n$$\n"],
  ])("never cut %s in two", (_, text) => {
    expect(texts(text)).toEqual([text]);
  });

  it("stay the same while text is added at the end", () => {
    const whole = "# A\n\nsome text\n\n```js\nlet x\n\nlet y\n```\n\n- a\n- b\n\nend of it\n\nreally";
    for (let end = 1; end <= whole.length; end++) {
      const before = texts(whole.slice(0, end));
      expect(before.join("")).toBe(whole.slice(0, end));
      const after = texts(whole);
      // All but the last piece are final.
      expect(after.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    }
  });

  it("are never longer than can be read at once, but for code", () => {
    const table = `|a|b|\n|-|-|\n${"|1|2|\n".repeat(10_000)}`;
    const chunks = chunksOf(table);
    expect(chunks.map(chunk => chunk.plain)).toEqual([false, true]);
    expect(chunks[0]?.text.length).toBeLessThanOrEqual(LONGEST_CHUNK);
    expect(chunks.map(chunk => chunk.text).join("")).toBe(table);
    const code = `\`\`\`\n${"x\n".repeat(10_000)}\`\`\`\n`;
    expect(chunksOf(code)).toEqual([{ text: code, plain: false }]);
  });
});

it("definitions are found wherever they stand", () => {
  expect(definitionsOf("see [a]\n\n[A]: https://x.test/\n")).toEqual(new Map([["a", "https://x.test/"]]));
});

it("a long text is cut at a line", () => {
  expect(cutAt("short", 10)).toBe(0);
  expect(cutAt("12345678\n0123456789", 10)).toBe(9);
  expect(cutAt("x".repeat(100), 10)).toBe(10);
});
