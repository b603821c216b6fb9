// @vitest-environment happy-dom

import { describe, expect, it } from "vitest";
import { follows, type Place } from "./follow";
import { goesUp } from "./hand";

const VIEW = 500;
/** A place with so much below what is seen. */
const at = (top: number, below: number, view = VIEW): Place => ({ top, height: top + view + below, view });

describe("following the end", () => {
  it("goes on while the end moves away", () => {
    expect(follows(true, at(100, 0), at(100, 300), "away")).toBe(true);
  });
  it("ends when the reader goes up, by whatever means, and begins again at the end", () => {
    expect(follows(true, at(100, 0), at(90, 10), "away")).toBe(false);
    expect(follows(true, at(100, 0), at(90, 300), "away")).toBe(false);
    expect(follows(false, at(90, 300), at(200, 190), "away")).toBe(false);
    expect(follows(false, at(90, 300), at(380, 10), "away")).toBe(true);
  });
  it("ends when the reader's hand moves it up, though it shrinks meanwhile", () => {
    expect(follows(true, at(100, 0), at(50, 20), "up")).toBe(false);
    expect(follows(true, at(100, 0), at(50, 20), "held")).toBe(false);
  });
  it("ends with the first pixel, and does not begin again while the reader wants to go up", () => {
    expect(follows(true, at(100, 0), at(99, 1), "up")).toBe(false);
    expect(follows(false, at(99, 1), at(99, 1), "up")).toBe(false);
  });
  it("does not end by a hand that moves nothing: what is inside may scroll by itself", () => {
    expect(follows(true, at(100, 0), at(100, 300), "up")).toBe(true);
  });
  it("does not begin again while the reader rests near the end", () => {
    expect(follows(false, at(90, 20), at(90, 20), "away")).toBe(false);
  });
  it("does not begin again where it was left, though that is the end", () => {
    expect(follows(false, at(100, 0), at(100, 0), "away")).toBe(false);
  });
  it("survives what shrinks: the browser moves up then, not the reader", () => {
    expect(follows(true, at(100, 0), at(50, 0), "away")).toBe(true);
    expect(follows(true, at(100, 0), at(50, 20), "away")).toBe(true);
    expect(follows(true, at(100, 0), at(40, 0, VIEW + 60), "away")).toBe(true);
  });
});

it("keys go up unless something is written with them", () => {
  const pressed = (key: string, shiftKey = false) => goesUp({ key, shiftKey, target: null });
  expect(["ArrowUp", "PageUp", "Home"].map(key => pressed(key))).toEqual([true, true, true]);
  expect(["ArrowDown", "PageDown", "End", " ", "Tab", "x"].some(key => pressed(key))).toBe(false);
  expect([pressed(" ", true), pressed("Tab", true), pressed("ArrowUp", true)]).toEqual([true, true, false]);
});
