import { expect, it } from "vitest";
import { besides } from "./place";

const WINDOW = { width: 400, height: 300 };
const OWN = { width: 100, height: 20 };

it("stands above the middle", () => {
  expect(besides({ left: 180, top: 100, width: 40, height: 30 }, OWN, WINDOW)).toEqual({
    left: 150,
    top: 75,
  });
});

it("stands below what is at the top, and never outside", () => {
  expect(besides({ left: 0, top: 4, width: 30, height: 30 }, OWN, WINDOW)).toEqual({ left: 8, top: 39 });
  expect(besides({ left: 380, top: 100, width: 20, height: 30 }, OWN, WINDOW).left).toBe(292);
});
