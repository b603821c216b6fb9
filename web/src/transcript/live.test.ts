import { describe, expect, it } from "vitest";
import type { Chat } from "@/api/schema";
import type { OpenChat } from "@/feed/chats";
import { EMPTY, type LivePart } from "@/feed/state";
import { CHILD_ASKS, chatWith, messageWith } from "@/testing/made";
import { hintOf } from "./FailureCard";
import { liveOf } from "./live";
import { toggled } from "./pins";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const open = (chat: Partial<Chat>, more: Partial<OpenChat> = {}): OpenChat => ({
  ...EMPTY,
  caughtUp: true,
  link: "live",
  chat: chatWith(chat),
  ...more,
});
const streaming = (part: LivePart) =>
  open(
    { status: "running" },
    { preview: { historyVersion: 1, attempt: 1, n: 1, role: "assistant", parts: [part] } },
  );
const failure = {
  kind: "overloaded",
  message: "The provider is overloaded.",
  detail: null,
  provider: "p",
  status_code: 529,
  retryable: true,
};
const asking = (kind: "approval" | "question" | "plan" | "uncertain" | "client_tool") =>
  open({
    status: "requires_action",
    action: { calls: [{ call_id: "a", kind, name: "execute", input: {}, deadline_at: null, chat_id: "c1" }] },
  });

describe("what happens now", () => {
  it.each([
    ["nothing when it rests", open({ status: "idle" }), undefined],
    ["what a sub-agent asks", open({ status: "idle", action: CHILD_ASKS }), "Waiting for your answer"],
    ["nothing when it failed: the card says it", open({ status: "error" }), undefined],
    ["queued for capacity", open({ status: "running", waiting: "capacity" }), /^Queued/],
    ["connecting", open({ status: "running" }), /^Connecting to the model/],
    ["connecting to a named model", open({ status: "running", model: "fast" }), /^Connecting to fast/],
    [
      "thinking",
      streaming({ type: "reasoning", text: "hm", title: null, started_at: null, finished_at: null }),
      /^Thinking/,
    ],
    ["writing", streaming({ type: "text", text: "hi" }), /^Writing/],
    [
      "preparing a call",
      streaming({ type: "tool_call_delta", call_id: "a", name: "grep", text: "{" }),
      /^Preparing grep/,
    ],
    ["sub-agents", open({ status: "running", waiting: "children" }), /^Waiting for sub-agents/],
    ["stopping", open({ status: "interrupting" }), /^Stopping/],
    ["held", open({ status: "idle", waiting: "held" }), /on hold/],
    ["reconnecting", open({ status: "running" }, { link: "reconnecting" }), /Reconnecting/],
    ["an approval", asking("approval"), /approval/],
    ["a question", asking("question"), /answer/],
    ["a plan", asking("plan"), /plan/],
    ["an uncertain call", asking("uncertain"), /may or may not have finished/],
    ["a program", asking("client_tool"), /program/],
  ])("%s", (_, state, text) => {
    const live = liveOf(state, NOW);
    if (text === undefined) expect(live.kind).toBe("rest");
    else expect("text" in live && live.text).toMatch(text);
  });

  it("retrying counts down and says why", () => {
    const retry = { ...failure, attempt: 3, delay_ms: 12_000, next_at: "2026-01-01T00:00:12Z" };
    const state = open({ status: "running", retry });
    expect(liveOf(state, NOW)).toEqual({
      kind: "retrying",
      text: "Retrying in 12 s (attempt 3 failed): The provider is overloaded.",
    });
    expect(liveOf(state, NOW + 12_000)).toMatchObject({ text: expect.stringMatching(/attempt 4/) });
  });

  it("names the call that runs, or how many", () => {
    const call = (id: string) => ({
      type: "tool_call" as const,
      call_id: id,
      name: "execute",
      input: {},
      provider_executed: false,
    });
    const one = open({ status: "running" }, { messages: [messageWith({ parts: [call("a")] })] });
    const two = open({ status: "running" }, { messages: [messageWith({ parts: [call("a"), call("b")] })] });
    expect(liveOf(one, NOW)).toMatchObject({ text: "Running execute…" });
    expect(liveOf(two, NOW)).toMatchObject({ text: "Running 2 calls…" });
  });
});

it("what failed says what to do", () => {
  expect(hintOf({ ...failure, kind: "auth" })).toMatch(/API key/);
  expect(hintOf({ ...failure, kind: "something new" })).toBeNull();
  expect(hintOf({ ...failure, kind: "toString" })).toBeNull();
});

it("pins are kept in the order of the history, and taken away again", () => {
  const both = toggled(toggled({}, "c", { messageId: "m2", text: "b" }), "c", { messageId: "m1", text: "a" });
  expect(both.c?.map(pin => pin.messageId)).toEqual(["m1", "m2"]);
  expect(toggled(both, "c", { messageId: "m1", text: "a" }).c?.map(pin => pin.messageId)).toEqual(["m2"]);
});
