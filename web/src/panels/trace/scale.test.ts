import { expect, test } from "vitest";
import { ALL, isAll, moved, placed, ticks, zoomed } from "./scale";

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

test("a turn without any duration draws", () => {
  const place = placed({ start: 5, end: 5 }, { start: 5, end: 5 }, ALL, 5);
  expect(place).toEqual({ left: 0, width: 0 });
});

test("ticks are round and within what is shown", () => {
  expect(ticks(10_000, ALL, 5).map(tick => tick.milliseconds)).toEqual([0, 2000, 4000, 6000, 8000]);
  expect(ticks(10_000, { from: 0.5, to: 0.6 }, 4).map(tick => tick.milliseconds)).toEqual([5000, 5500]);
  expect(ticks(0, ALL, 5)).toEqual([]);
});
