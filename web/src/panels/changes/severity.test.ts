import { expect, test } from "vitest";
import type { Collision } from "@/feed/events";
import { byPath, lookOf, worstFirst } from "./severity";

const collide = (path: string, severity: Collision["severity"]) => ({
  path,
  severity,
  chats: ["me", "other"],
});

test("the worst collision stands first", () => {
  const all = [collide("c", "same_file"), collide("b", "same_lines"), collide("a", "near_lines")];
  expect(worstFirst(all).map(one => one.path)).toEqual(["b", "a", "c"]);
  expect(worstFirst(all).map(one => lookOf(one.severity))).toEqual(["bad", "warn", "quiet"]);
});

test("a path is the same with and without its dot", () => {
  expect(byPath([collide("./src/a.py", "same_lines")]).has("src/a.py")).toBe(true);
});
