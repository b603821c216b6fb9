import { describe, expect, test } from "vitest";
import type { ContextSegment } from "@/api/schema";
import { grouped } from "./contextGroups";

const segment = (kind: ContextSegment["kind"], label: string, tokens: number): ContextSegment => ({
  kind,
  label,
  tokens,
  message_id: null,
  error: null,
  drift: null,
});

describe("what fills a context", () => {
  test("each kind with its largest pieces, in the order of the request", () => {
    const messages = Array.from({ length: 8 }, (_, n) => segment("message", `m${n}`, n));
    const [system, message] = grouped([segment("system", "base", 50), ...messages]);
    expect(system).toEqual({
      kind: "system",
      tokens: 50,
      listed: [{ ...segment("system", "base", 50), key: 0 }],
      more: 0,
    });
    expect(message?.tokens).toBe(28);
    expect(message?.listed[0]?.label).toBe("m7");
    expect(message?.more).toBe(2);
  });

  test("what something is wrong with is always listed", () => {
    const skills = Array.from({ length: 8 }, (_, n) => segment("skills", `s${n}`, n + 1));
    const broken = { ...segment("skills", "broken", 0), error: "no description" };
    const gone = { ...segment("skills", "gone", 0), drift: "removed" as const };
    const [group] = grouped([...skills, broken, gone]);
    expect(group?.listed.map(one => one.label)).toEqual([
      "s7",
      "s6",
      "s5",
      "s4",
      "s3",
      "s2",
      "broken",
      "gone",
    ]);
    expect(group?.more).toBe(2);
  });

  test("nothing", () => {
    expect(grouped([])).toEqual([]);
  });
});
