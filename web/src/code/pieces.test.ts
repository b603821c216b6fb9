import { describe, expect, it } from "vitest";
import { linesOf, markedIn } from "./pieces";

const plain = (text: string) => ({ text, kind: null });

describe("coloured code", () => {
  it("is cut to lines, with a piece that spans several of them", () => {
    const pieces = [plain("a = "), { text: '"""x\n\ny"""', kind: "hljs-string" }, plain("\n")];
    expect(linesOf(pieces)).toEqual([
      [plain("a = "), { text: '"""x', kind: "hljs-string" }],
      [],
      [{ text: 'y"""', kind: "hljs-string" }],
      [],
    ]);
  });

  it("is cut at the edges of what is marked, and loses nothing", () => {
    const pieces = [plain("return "), { text: "total", kind: "hljs-variable" }, plain(";")];
    expect(markedIn(pieces, [5, 9])).toEqual([
      { text: "retur", kind: null, marked: false },
      { text: "n ", kind: null, marked: true },
      { text: "to", kind: "hljs-variable", marked: true },
      { text: "tal", kind: "hljs-variable", marked: false },
      { text: ";", kind: null, marked: false },
    ]);
    for (const range of [null, [0, 0], [0, 13], [6, 100]] as const) {
      expect(
        markedIn(pieces, range)
          .map(piece => piece.text)
          .join(""),
      ).toBe("return total;");
    }
  });
});
