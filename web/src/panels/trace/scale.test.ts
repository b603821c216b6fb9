import { expect, test } from "vitest";
import { ALL, drawn, isAll, moved, placed, ticks, zoomed } from "./scale";

const whole = { start: 1000, end: 11_000 };

test("a span stands where its time is", () => {
  expect(placed({ start: 3000, end: 6000 }, whole, ALL, 0)).toEqual({ left: 20, width: 30 });
});

test("what goes on reaches to now", () => {
  const place = placed({ start: 1000, end: null }, { start: 1000, end: null }, ALL, 5000);
  expect(place).toEqual({ left: 0, width: 100 });
});

test("zooming keeps the place under the pointer and never leaves the turn", () => {
  const shown = zoomed(ALL, 2, 0.25);
  expect(shown).toEqual({ from: 0.125, to: 0.625 });
  expect(zoomed(shown, 0.1)).toEqual(ALL);
  expect(isAll(zoomed(shown, 0.5))).toBe(true);
  expect(moved(shown, 10)).toEqual({ from: 0.5, to: 1 });
  expect(moved(shown, -10)).toEqual({ from: 0, to: 0.5 });
});

test("zooming ends somewhere", () => {
  let shown = ALL;
  for (let i = 0; i < 50; i++) shown = zoomed(shown, 2);
  expect(shown.to - shown.from).toBeCloseTo(1 / 512);
});

test("what is outside of what is shown has no place, and what reaches out is cut", () => {
  const shown = { from: 0.5, to: 1 };
  expect(placed({ start: 1000, end: 3000 }, whole, shown, 0)).toBeNull();
  expect(placed({ start: 1000, end: 8500 }, whole, shown, 0)).toEqual({ left: 0, width: 50 });
});

test("however long a person is waited for, what was done keeps its room", () => {
  const extent = { start: 1000, end: null };
  const rests = { extent, waitsSince: 4000 };
  expect(drawn(rests, 4500)).toEqual({ start: 1000, end: 4500 });
  expect(drawn(rests, 4_000_000)).toEqual({ start: 1000, end: 5000 });
  expect(drawn({ extent, waitsSince: null }, 4_000_000)).toBe(extent);
  expect(drawn({ extent: null, waitsSince: null }, 0)).toBeNull();
});

test("a turn without any duration draws", () => {
  const place = placed({ start: 5, end: 5 }, { start: 5, end: 5 }, ALL, 5);
  expect(place).toEqual({ left: 0, width: 0 });
});

test("ticks are round and within what is shown", () => {
  expect(ticks(10_000, ALL, 5).map(tick => tick.milliseconds)).toEqual([0, 2000, 4000, 6000, 8000]);
  expect(ticks(10_000, { from: 0.5, to: 0.6 }, 4).map(tick => tick.milliseconds)).toEqual([5000, 5500]);
  expect(ticks(368_000, ALL, 3).map(tick => tick.milliseconds)).toEqual([0, 300_000]);
  expect(ticks(100_000, ALL, 4).map(tick => tick.milliseconds)).toEqual([0, 30_000, 60_000, 90_000]);
  expect(ticks(20 * 3_600_000, ALL, 4).map(tick => tick.milliseconds / 3_600_000)).toEqual([0, 5, 10, 15]);
  expect(ticks(0, ALL, 5)).toEqual([]);
});
