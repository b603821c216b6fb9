import { expect, it } from "vitest";
import { texts } from "@/texts";

/** Every text; those with parts are filled in with something. */
function all(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "function") {
    try {
      return all(value("x", "y", "z"));
    } catch {
      return [];
    }
  }
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(all) : [];
}

it("texts use the words that people use", () => {
  const unusual =
    /\b(nobody|somebody|brings? along|left alone|says of its|go(es)? back|anew|farther|take(n)? back|as the system|begin anew|tell it something|a message for when|messages? waits?|one below the other|tokens of programs|no, because|it was done)\b/i;
  expect(all(texts).filter(text => unusual.test(text))).toEqual([]);
});

it("no text is empty or ends in a space", () => {
  const known = new Set([texts.composer.askSkill("x")]);
  expect(all(texts).filter(text => (text.trim() === "" || /\s$/.test(text)) && !known.has(text))).toEqual([]);
});
