import { describe, expect, it } from "vitest";
import { folded, visible, visibleRequest } from "./visible";
import cases from "./visible.cases.json";

describe("visible", () => {
  it.each(cases)("$why", ({ text, shown, strictly }) => {
    expect(visible(text, strictly ?? false)).toBe(shown);
    expect(visible(shown, strictly ?? false)).toBe(shown);
  });

  it("shows controls by their codes and keeps lines", () => {
    expect(visible("a\u001b[31mb\u0000\u007f\r\nc\td")).toBe("a⟨U+001B⟩[31mb⟨U+0000⟩⟨U+007F⟩\nc\td");
  });
});

describe("folded", () => {
  it("tells of empty space and does not show it", () => {
    const command = `echo harmless${"\n".repeat(120)}rm -rf ~`;
    expect(visibleRequest(command)).toBe("echo harmless\n⟨119 empty lines⟩\nrm -rf ~");
    expect(folded(`${"\n".repeat(5)}x`)).toBe("⟨5 empty lines⟩\nx");
    expect(folded("a\n\n\nb\n    c")).toBe("a\n\n\nb\n    c");
    expect(folded(`a${" ".repeat(300)}b`)).toBe("a⟨300 spaces⟩b");
    expect(folded(`${" \n".repeat(50)}b`)).toBe("⟨50 empty lines⟩\nb");
  });
});
