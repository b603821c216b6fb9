import { expect, it } from "vitest";
import { age, duration, money, tokens } from "./format";

it("shortens numbers as people read them", () => {
  expect([0, 999, 1000, 67_420, 200_000, 1_250_000].map(tokens)).toEqual([
    "0",
    "999",
    "1K",
    "67.4K",
    "200K",
    "1.3M",
  ]);
  expect([0, 900, 1_230_000, 250_000_000].map(money)).toEqual(["$0", "<$0.01", "$1.23", "$250"]);
  expect([12, 1500, 42_000, 125_000, 7_260_000].map(duration)).toEqual([
    "12 ms",
    "1.5 s",
    "42 s",
    "2 min 5 s",
    "2 h 1 min",
  ]);
});

it("tells ages shortly", () => {
  const now = new Date("2026-03-15T12:00:00Z");
  expect(
    ["2026-03-15T11:59:40Z", "2026-03-15T11:20:00Z", "2026-03-15T02:00:00Z"].map(at => age(at, now)),
  ).toEqual(["now", "40m", "10h"]);
});
