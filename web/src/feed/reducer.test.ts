import { describe, expect, it } from "vitest";
import { chatWith, idOf, messages, messageWith, partEvent, USAGE } from "@/testing/made";
import type { FeedEvent } from "./events";
import { adopting, reduce, reduceAll, withGapInFront, withIsland, withOlder } from "./reducer";
import { type ChatState, EMPTY, keyOf, previewKey } from "./state";

const shown = (state: ChatState) =>
  state.preview?.parts.map(part => ("text" in part ? part.text : "")).join("");
const ids = (state: ChatState) => state.messages.map(message => message.id);

describe("live parts", () => {
  it("join what goes on, and begin anew with another attempt", () => {
    const state = reduceAll(EMPTY, [partEvent(1, "a"), partEvent(2, "b"), partEvent(4, "cd", { first: 3 })]);
    expect(shown(state)).toBe("abcd");
    expect(state.preview?.parts).toHaveLength(1);
    expect(shown(reduce(state, partEvent(1, "x", { attempt: 2 })))).toBe("x");
  });

  it("are taken once, and never with a hole", () => {
    const state = reduceAll(EMPTY, [partEvent(1, "a"), partEvent(2, "b")]);
    expect(reduce(state, partEvent(2, "b"))).toBe(state);
    expect(reduce(state, partEvent(4, "d"))).toBe(state);
    expect(reduce(EMPTY, partEvent(3, "c"))).toBe(EMPTY);
  });

  it("of a call's input make one call, which the whole call replaces", () => {
    const piece = (n: number, text: string): FeedEvent => ({
      event: "part",
      data: {
        history_version: 5,
        attempt: 1,
        n,
        role: "assistant",
        part: { type: "tool_call_delta", call_id: "k", name: "list", text },
      },
    });
    const whole: FeedEvent = {
      event: "part",
      data: {
        history_version: 5,
        attempt: 1,
        n: 3,
        role: "assistant",
        part: { type: "tool_call", call_id: "k", name: "list", input: {}, provider_executed: false },
      },
    };
    const pieces = reduceAll(EMPTY, [piece(1, '{"pa'), piece(2, 'th"')]);
    expect(pieces.preview?.parts).toEqual([
      { type: "tool_call_delta", call_id: "k", name: "list", text: '{"path"' },
    ]);
    expect(reduce(pieces, whole).preview?.parts.map(part => part.type)).toEqual(["tool_call"]);
  });

  it("leave everything else the same object", () => {
    const before = reduceAll(EMPTY, [{ event: "chat", data: chatWith() }, partEvent(1, "a")]);
    const after = reduce(before, partEvent(2, "b"));
    expect(after.chat).toBe(before.chat);
    expect(after.messages).toBe(before.messages);
    expect(after.spans).toBe(before.spans);
  });
});

describe("a committed message", () => {
  const message = messageWith({ parts: [{ type: "text", text: "ab" }] });

  it("replaces its preview under the same key", () => {
    const before = reduceAll(EMPTY, [partEvent(1, "ab")]);
    const after = reduce(before, {
      event: "message",
      data: { message, replaces: { history_version: 5, attempt: 1 } },
    });
    expect(after.preview).toBeNull();
    expect(before.preview && keyOf(after, message)).toBe(before.preview && previewKey(before.preview));
  });

  it("leaves a preview that is not its own", () => {
    const before = reduceAll(EMPTY, [partEvent(1, "ab", { history: 9 })]);
    const after = reduce(before, {
      event: "message",
      data: { message, replaces: { history_version: 5, attempt: 1 } },
    });
    expect(after.preview).toBe(before.preview);
    expect(keyOf(after, message)).toBe(message.id);
  });

  it("is known once, and its results by their calls", () => {
    const result = {
      type: "tool_result" as const,
      call_id: "k",
      name: "list",
      output: [],
      outcome: "succeeded" as const,
      diff: null,
      truncated: false,
      started_at: null,
      finished_at: null,
    };
    const event: FeedEvent = {
      event: "message",
      data: { message: messageWith({ role: "tool", parts: [result] }) },
    };
    const state = reduceAll(EMPTY, [event, event]);
    expect(state.messages).toHaveLength(1);
    expect(state.results.get("k")).toEqual(result);
  });
});

describe("the chat", () => {
  it("takes what is told of it piece by piece", () => {
    const state = reduceAll(EMPTY, [
      { event: "chat", data: chatWith() },
      { event: "status", data: { status: "running", waiting: "capacity" } },
      { event: "usage", data: { ...USAGE, total: 7 } },
      { event: "queue", data: { items: [] } },
    ]);
    expect(state.chat).toMatchObject({ status: "running", waiting: "capacity" });
    expect(state.usage?.total).toBe(7);
  });

  it("forgets an error when it is told anew", () => {
    const failure = {
      kind: "auth",
      message: "no",
      detail: null,
      provider: null,
      status_code: null,
      retryable: false,
    } as never;
    const failed = reduceAll(EMPTY, [
      { event: "chat", data: chatWith({ status: "error" }) },
      { event: "failed", data: failure },
    ]);
    expect(failed.chat?.last_error).toEqual(failure);
    expect(
      reduce(failed, { event: "chat", data: chatWith({ status: "running" }) }).chat?.last_error,
    ).toBeNull();
  });

  it("loses its messages with its history, and nothing else", () => {
    const spanless = reduceAll(EMPTY, [
      { event: "chat", data: chatWith() },
      { event: "message", data: { message: messageWith() } },
      partEvent(1, "a"),
      { event: "history_reset", data: {} },
    ]);
    expect(spanless).toMatchObject({ messages: [], preview: null });
    expect(spanless.chat).not.toBeNull();
  });
});

describe("older history", () => {
  const tail = withGapInFront({ ...EMPTY, messages: messages(901, 1000) });

  it("comes page by page, until there is none", () => {
    const one = withOlder(tail, idOf(901), { items: messages(801, 900), more: true });
    expect(one.gaps).toEqual(new Set([idOf(801)]));
    expect(one.messages).toHaveLength(200);
    const all = withOlder(one, idOf(801), { items: messages(1, 800), more: false });
    expect(all.gaps.size).toBe(0);
    expect(ids(all)).toEqual(messages(1, 1000).map(message => message.id));
  });

  it("may begin in the middle, and closes the gap when it meets what is known", () => {
    const island = withIsland(tail, { items: messages(451, 550), more: true });
    expect(island.gaps).toEqual(new Set([idOf(451), idOf(901)]));
    const nearer = withOlder(island, idOf(901), { items: messages(601, 900), more: true });
    expect(nearer.gaps).toEqual(new Set([idOf(451), idOf(601)]));
    const joined = withOlder(nearer, idOf(601), { items: messages(501, 600), more: true });
    expect(joined.gaps).toEqual(new Set([idOf(451)]));
    expect(ids(joined)).toEqual(messages(451, 1000).map(message => message.id));
  });

  it("of a linked message that touches the end leaves no gap between", () => {
    const island = withIsland(tail, { items: messages(851, 950), more: true });
    expect(island.gaps).toEqual(new Set([idOf(851)]));
  });

  it("that is told anew keeps the objects that say the same", () => {
    const fresh = { ...EMPTY, messages: messages(901, 1001) };
    const state = adopting(tail, fresh);
    expect(state.messages[0]).toBe(tail.messages[0]);
    expect(state.messages).toHaveLength(101);
  });
});

it("draws a stream of 2 000 deltas as one part, and touches nothing else", () => {
  const before = { ...EMPTY, messages: messages(1, 200) };
  const deltas = Array.from({ length: 2000 }, (_, index) => partEvent(index + 1, "word "));
  const state = reduceAll(before, deltas);
  expect(shown(state)).toBe("word ".repeat(2000));
  expect(state.preview?.parts).toHaveLength(1);
  expect(state.messages).toBe(before.messages);
});
