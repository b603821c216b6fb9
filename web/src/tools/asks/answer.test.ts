import { expect, it } from "vitest";
import { Problem } from "@/api/problem";
import { waitOf } from "./answer";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const refused = (data: unknown, code = "wrong_state") =>
  waitOf(new Problem({ status: 409, code, detail: "no", data }), NOW);

it("an answer that is too early waits for its moment", () => {
  expect(refused({ not_before: "2026-01-01T00:00:04Z" })).toBe(4000);
});

it("where clocks differ it is not asked without a pause", () => {
  expect(refused({ not_before: "2025-12-31T23:59:00Z" })).toBe(500);
});

it("what was refused for another reason, or for long, is told", () => {
  expect(refused(undefined)).toBeNull();
  expect(refused({ not_before: "2026-01-01T00:00:04Z" }, "already_answered")).toBeNull();
  expect(refused({ not_before: "2026-01-01T01:00:00Z" })).toBeNull();
  expect(waitOf(new Error("offline"), NOW)).toBeNull();
});
