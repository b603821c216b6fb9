import { expect, test } from "vitest";
import { span, turn, usage } from "@/panels/spans.sample";
import { cacheLook, cacheOf, cacheTotal, countdown, hitRate, warmUntil } from "./cache";

test("a request is what was read, written and fresh", () => {
  const share = cacheOf(usage({ input: 1000, cache_read: 700, cache_write: 200 }));
  expect(share).toEqual({ read: 700, written: 200, fresh: 100, total: 1000 });
});

test("no request has no share", () => {
  expect(cacheOf(null)).toBeNull();
  expect(cacheOf(usage())).toBeNull();
  expect(cacheTotal([span({ id: "call-1", kind: "tool_call" })])).toBeNull();
});

test("steps and their model calls are not counted twice", () => {
  const share = cacheTotal([...turn(1), ...turn(2)]);
  expect(share?.total).toBe(2000);
  expect(share && hitRate(share)).toBe(0.7);
});

test.each([
  [600, "good"],
  [599, "warn"],
  [300, "warn"],
  [299, "bad"],
])("%i of 1000 look %s", (read, look) =>
  expect(cacheLook({ read, written: 0, fresh: 1000 - read, total: 1000 })).toBe(look),
);

test("the cache is warm until the newest request says", () => {
  const cached = (id: string, finished_at: string | null, expires_at: string | null) =>
    span({
      id,
      kind: "model_call",
      finished_at,
      cache: {
        read: 0,
        write: 9,
        fresh: 0,
        hit_rate: 0,
        reason: null,
        detail: null,
        message_id: null,
        lifetime_seconds: 300,
        expires_at,
      },
    });
  const first = cached("a", "2026-01-01T12:00:00Z", "2026-01-01T12:05:00Z");
  const second = cached("b", "2026-01-01T12:01:00Z", "2026-01-01T12:06:00Z");
  expect(warmUntil([second, first])).toBe(Date.parse("2026-01-01T12:06:00Z"));
  expect(warmUntil([first, cached("c", "2026-01-01T12:02:00Z", null)])).toBeNull();
  expect(warmUntil([cached("d", null, "2026-01-01T12:09:00Z")])).toBeNull();
});

test("a countdown reads like a clock", () => {
  expect([0, 4_001, 299_000, 3_725_000].map(countdown)).toEqual(["0:00", "0:05", "4:59", "1:02:05"]);
});
