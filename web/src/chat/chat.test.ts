import { describe, expect, it } from "vitest";
import type { OpenChat } from "@/feed/chats";
import { EMPTY } from "@/feed/state";
import { textOf } from "@/notify/notifier";
import { CHILD_ASKS, chatWith, messageWith } from "@/testing/made";
import { news } from "./announcements";
import { said } from "./StatusBadge";

const open = (change: Partial<OpenChat>): OpenChat => ({ ...EMPTY, caughtUp: true, link: "live", ...change });

describe("what a screen reader is told", () => {
  it("are whole answers, once", () => {
    const before = open({ messages: [messageWith({ id: "m1" })] });
    const after = open({
      messages: [...before.messages, messageWith({ id: "m2", parts: [{ type: "text", text: "done" }] })],
    });
    expect(news(before, after)).toEqual(["The agent said: done"]);
    expect(news(after, after)).toEqual([]);
  });

  it("is not what was there before, nor what streams", () => {
    const messages = [messageWith()];
    expect(news(open({ caughtUp: false }), open({ messages }))).toEqual([]);
    const preview = { historyVersion: 1, attempt: 1, n: 1, role: "assistant" as const, parts: [] };
    expect(news(open({ messages }), open({ messages, preview }))).toEqual([]);
  });

  it("is that the agent needs somebody, or is done", () => {
    const [running, asking, idle] = (["running", "requires_action", "idle"] as const).map(status =>
      open({ chat: chatWith({ status }) }),
    ) as [OpenChat, OpenChat, OpenChat];
    expect(news(running, asking)).toEqual(["The agent needs you."]);
    expect(news(running, idle)).toEqual(["The agent is done."]);
  });
});

describe("the status", () => {
  it("says something for every state but rest", () => {
    expect(said(chatWith())[0]).toBeNull();
    expect(said(chatWith({ status: "running", waiting: "capacity" }))).toEqual([
      "Waiting for a free slot",
      "working",
    ]);
    expect(said(chatWith({ status: "running", waiting: "children" }))[0]).toBe("Waiting for sub-agents");
    expect(said(chatWith({ status: "requires_action" }))[1]).toBe("attention");
    expect(said(chatWith({ status: "error" }))[1]).toBe("bad");
    expect(said(chatWith({ archived: true }))[0]).toBe("Archived");
  });

  it("is what a notification says", () => {
    expect(textOf(chatWith({ status: "requires_action" }))).toBe("Needs you: A chat");
    expect(textOf(chatWith({ status: "idle", action: CHILD_ASKS }))).toBe("Needs you: A chat");
    expect(textOf(chatWith({ status: "idle", title: "" }))).toBe("Done: Untitled");
  });
});
