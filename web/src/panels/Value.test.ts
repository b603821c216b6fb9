import { expect, test } from "vitest";
import { piecesOf } from "./Value";

test("texts of several lines stand for themselves, the rest is JSON", () => {
  const pieces = piecesOf({ exit_code: 0, output: "one\ntwo", command: "ls\n" });
  expect(pieces.texts).toEqual([["output", "one\ntwo"]]);
  expect(JSON.parse(pieces.rest ?? "")).toEqual({ exit_code: 0, command: "ls\n" });
});

test("nothing is made of nothing", () => {
  expect(piecesOf({ output: "one\ntwo" }).rest).toBeNull();
  expect(piecesOf({}).rest).toBe("{}");
  expect(piecesOf("as it is")).toEqual({ rest: "as it is", texts: [] });
  expect(piecesOf([1]).texts).toEqual([]);
});
