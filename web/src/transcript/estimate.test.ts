import { describe, expect, it } from "vitest";
import type { Message } from "@/api/schema";
import { messageWith } from "@/testing/made";
import { estimated } from "./estimate";
import { rowsOf } from "./rows";

const text = (said: string): Message["parts"][number] => ({ type: "text", text: said });
const call = (id: string): Message["parts"][number] => ({
  type: "tool_call",
  call_id: id,
  name: "list",
  input: {},
  provider_executed: false,
});
const heightOf = (...parts: Message["parts"]) =>
  estimated(rowsOf({ messages: [messageWith({ id: "m", role: "assistant", parts })], keys: new Map() })[0]);

describe("the height of a row", () => {
  it("grows with what is said, by letters and by lines", () => {
    const short = heightOf(text("a few words"));
    expect(heightOf(text("word ".repeat(100)))).toBeGreaterThan(short + 100);
    expect(heightOf(text("- a\n- b\n- c\n- d"))).toBeGreaterThan(short + 60);
  });
  it("grows with calls until they are folded", () => {
    const of = (count: number) => heightOf(...Array.from({ length: count }, (_, n) => call(`c${n}`)));
    expect(of(5)).toBeGreaterThan(of(2));
    expect(of(50)).toBe(of(500));
    expect(of(50)).toBeLessThan(of(6));
  });
  it("is bounded", () => {
    expect(heightOf(text("x\n".repeat(100_000)))).toBeLessThanOrEqual(4000);
  });
});
