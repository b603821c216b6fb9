import { describe, expect, test } from "vitest";
import type { ContextSegment } from "@/api/schema";
import { grouped } from "./contextGroups";

const segment = (kind: ContextSegment["kind"], label: string, tokens: number): ContextSegment => ({
  kind,
  label,
  tokens,
  message_id: null,
});

describe("what fills a context", () => {
  test("each kind with its largest pieces, in the order of the request", () => {
    const messages = Array.from({ length: 8 }, (_, n) => segment("message", `m${n}`, n));
    const [system, message] = grouped([segment("system", "base", 50), ...messages]);
    expect(system).toEqual({
      kind: "system",
      tokens: 50,
      largest: [{ key: 0, label: "base", tokens: 50 }],
      more: 0,
    });
    expect(message?.tokens).toBe(28);
    expect(message?.largest[0]?.label).toBe("m7");
    expect(message?.more).toBe(2);
  });

  test("nothing", () => {
    expect(grouped([])).toEqual([]);
  });
});
