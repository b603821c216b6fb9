import { afterEach, expect, it, vi } from "vitest";
import { call, newKey, onSignedOut, urlOf } from "./client";
import { Problem, textOf } from "./problem";

const answers = (status: number, body: unknown) =>
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(body), { status }));

afterEach(() => vi.unstubAllGlobals());

it("fills in names and leaves out what is not said", () => {
  expect(
    urlOf("/chats/{chat_id}/messages", { chat_id: "a/b" }, { before: "x", after: null, limit: undefined }),
  ).toBe("/api/v1/chats/a%2Fb/messages?before=x");
});

it("turns a problem into an error with its code and text", async () => {
  answers(409, {
    type: "t",
    title: "Conflict",
    status: 409,
    code: "queue_full",
    detail: "The queue is full.",
  });
  const error = await call("GET /session").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({ code: "queue_full", status: 409, message: "The queue is full." });
});

it("names the fields that are wrong", () => {
  const errors = [{ field: "name", message: "too long" }];
  expect(textOf(new Problem({ status: 422, code: "invalid_input", detail: "wrong", errors }))).toBe(
    "Name: too long.",
  );
});

it("says so when nobody answers", async () => {
  vi.stubGlobal("fetch", async () => {
    throw new TypeError("fetch failed");
  });
  await expect(call("GET /session")).rejects.toMatchObject({ code: "unreachable" });
});

it("tells who listens that the session is over", async () => {
  answers(401, { type: "t", title: "Unauthorized", status: 401, code: "unauthorized", detail: "Sign in." });
  const listener = vi.fn();
  const end = onSignedOut(listener);
  await expect(call("GET /session")).rejects.toMatchObject({ code: "unauthorized" });
  expect(listener).toHaveBeenCalledOnce();
  end();
});

it("makes keys that differ", () => {
  expect(newKey()).toMatch(/^[0-9a-f]{32}$/);
  expect(newKey()).not.toBe(newKey());
});
