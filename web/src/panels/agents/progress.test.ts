import { expect, test } from "vitest";
import { EMPTY } from "@/feed/state";
import { message, span } from "@/panels/spans.sample";
import { lastSaid, progressOf } from "./progress";

const spoken = message({ id: "2", role: "assistant", parts: [{ type: "text", text: "Here." }] });
const silent = message({ id: "3", role: "assistant", parts: [] });

test("the last words count, not the last message", () => {
  expect(lastSaid([message({ id: "1", role: "user" }), spoken, silent])).toBe("Here.");
  expect(lastSaid([silent])).toBe("");
});

test("what streams goes before what was said", () => {
  const preview = { historyVersion: 1, attempt: 1, n: 1, role: "assistant" as const, parts: [] };
  const parts = [{ type: "text" as const, text: "Now" }];
  expect(progressOf({ ...EMPTY, messages: [spoken], preview }).said).toBe("Here.");
  expect(progressOf({ ...EMPTY, messages: [spoken], preview: { ...preview, parts } }).said).toBe("Now");
});

test("the tool that runs is named", () => {
  const ended = span({ id: "call-1", kind: "tool_call", name: "list" });
  const running = span({ id: "call-2", kind: "tool_call", name: "execute", finished_at: null });
  const spans = new Map([ended, running].map(one => [one.id, one]));
  expect(progressOf({ ...EMPTY, spans }).doing).toBe("execute");
  expect(progressOf(EMPTY).doing).toBeNull();
});
