import { describe, expect, it } from "vitest";
import { inlineOf } from "./inline";
import type { Node } from "./pieces";

/** As short as it can be read. */
const said = (nodes: readonly Node[]): string =>
  nodes
    .map(node => {
      switch (node.type) {
        case "text":
          return node.text;
        case "code":
          return `<code ${node.text}>`;
        case "break":
          return "<br>";
        case "maths":
          return `<maths ${node.text}>`;
        case "image":
          return `<image ${node.href} ${node.text}>`;
        case "link":
          return `<link ${node.href} ${said(node.children)}>`;
        default:
          return `<${node.type} ${said(node.children)}>`;
      }
    })
    .join("");

describe("inside of a line", () => {
  it.each([
    ["a *b* c", "a <em b> c"],
    ["**b** __c__", "<strong b> <strong c>"],
    ["***both***", "<em <strong both>>"],
    ["**a *b* c**", "<strong a <em b> c>"],
    ["*a **b** c*", "<em a <strong b> c>"],
    ["snake_case_name and __init__.py", "snake_case_name and <strong init>.py"],
    ["a * b * c", "a * b * c"],
    ["2*3*4", "2<em 3>4"],
    ["**open", "**open"],
    ["*a **b*", "*a *<em b>"],
    ["~~gone~~ ~one~", "<del gone> <del one>"],
    ["~~~not~~~", "~~~not~~~"],
    ["`a*b*` and ``a`b``", "<code a*b*> and <code a`b>"],
    ["`` ` ``", "<code `>"],
    ["`open", "`open"],
    ["\\*not\\* \\a", "*not* \\a"],
    ["two  \nlines\nhere", "two<br>lines\nhere"],
    ["back\\\nslash", "back<br>slash"],
    ["[text](https://a.test/x)", "<link https://a.test/x text>"],
    ['[t](<https://a.test/x y> "title")', "<link https://a.test/x y t>"],
    ["[t](https://a.test/(x))", "<link https://a.test/(x) t>"],
    ["[*t*](u)", "<link u <em t>>"],
    ["[t]( )", "<link  t>"],
    ["[t] (u)", "[t] (u)"],
    ["[t](u", "[t](u"],
    ["a] b [c", "a] b [c"],
    ["[a [b](u) c](v)", "[a <link u b> c](v)"],
    ["![alt *x*](u)", "<image u alt x>"],
    ["[![i](u)](v)", "<link v <image u i>>"],
    ["[known] and [text][known]", "<link K known> and <link K text>"],
    ["[unknown]", "[unknown]"],
    ["see https://a.test/x?y=1, ok", "see <link https://a.test/x?y=1 https://a.test/x?y=1>, ok"],
    ["(https://a.test/x_(y))", "(<link https://a.test/x_(y) https://a.test/x_(y)>)"],
    ["www.a.test/x.", "<link https://www.a.test/x www.a.test/x>."],
    ["ahttps://a.test", "ahttps://a.test"],
    [
      "<https://a.test> <me@a.test>",
      "<link https://a.test https://a.test> <link mailto:me@a.test me@a.test>",
    ],
    ["<b>x</b>", "<b>x</b>"],
    ["$x^2$ costs $5 or \\(y\\)", "<maths x^2> costs $5 or <maths y>"],
    ["**`code`**", "<strong <code code>>"],
    ["", ""],
  ])("%s", (text, expected) => {
    expect(said(inlineOf(text, new Map([["known", "K"]])))).toBe(expected);
  });

  it("loses nothing of any text", () => {
    const signs = ["*", "_", "~", "`", "[", "]", "(", ")", "!", "a", " ", "**", "<", "$"];
    let seed = 7;
    const next = (most: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % most;
    };
    for (let round = 0; round < 3_000; round++) {
      const text = Array.from({ length: 1 + next(12) }, () => signs[next(signs.length)]).join("");
      const letters = (one: string) => one.replace(/[^a]/g, "").length;
      const read = said(inlineOf(text)).replace(/<(?:em|strong|del|code|link|image|maths) /g, "");
      expect(letters(read), text).toBeGreaterThanOrEqual(letters(text));
    }
  });

  it.each([
    "*a_",
    "**a_",
    "[*a_",
    "~a*",
    "`*a_",
    "[",
    "![",
    "[a](",
    "*",
    "_a ",
    "`a``b",
    "<",
    "$",
    "https://",
    "[a][",
    "\\(",
  ])("%s, however often, is read in one pass", sign => {
    const short = sign.repeat(2_000);
    expect(inlineOf(short).length).toBeGreaterThan(0);
    expect(inlineOf(sign.repeat(20_000)).length).toBeGreaterThan(0);
  });
});
