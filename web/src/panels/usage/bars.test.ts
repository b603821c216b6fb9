import { expect, test } from "vitest";
import { usage } from "@/panels/spans.sample";
import { cachedPercent, dayBars, ranked } from "./bars";

const line = (key: string, input: number, cost = 0) => ({
  key,
  steps: 1,
  usage: usage({ input, cost_usd_micros: cost }),
});

test("every day has its bar, also one without anything", () => {
  const lines = [line("2026-01-02", 50), line("2026-01-04", 100), line("2025-12-01", 999)];
  const bars = dayBars(lines, "tokens", 3, new Date("2026-01-04T23:59:00Z"));
  expect(bars.map(bar => [bar.day, bar.amount, bar.share])).toEqual([
    ["2026-01-02", 50, 0.5],
    ["2026-01-03", 0, 0],
    ["2026-01-04", 100, 1],
  ]);
});

test("nothing at all is no division by nothing", () => {
  expect(dayBars([], "money", 2, new Date("2026-01-02T00:00:00Z")).every(bar => bar.share === 0)).toBe(true);
  expect(ranked([], "money", 5)).toEqual([]);
});

test("the largest first, measured as asked", () => {
  const lines = [line("a", 10, 900), line("b", 40, 0), line("c", 20, 300)];
  expect(ranked(lines, "tokens", 2).map(one => [one.key, one.share])).toEqual([
    ["b", 1],
    ["c", 0.5],
  ]);
  expect(ranked(lines, "money", 5).map(one => one.key)).toEqual(["a", "c"]);
});

test("how much came from the cache", () => {
  expect(cachedPercent(usage())).toBeNull();
  expect(cachedPercent(usage({ input: 3, cache_read: 2 }))).toBe(67);
});
