import { expect, test } from "vitest";
import { span, turn, usage } from "@/panels/spans.sample";
import { cacheLook, cacheOf, cacheTotal, hitRate } from "./cache";

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
