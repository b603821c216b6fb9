import { describe, expect, it } from "vitest";
import { grouped, headingOf } from "@/chats/groups";
import { markOf } from "@/chats/seen";
import { CHILD_ASKS, chatWith } from "@/testing/made";
import { NO_CHATS, reduceList, withPage } from "./list";

const at = (when: string, change = {}) => chatWith({ updated_at: when, ...change });

describe("the list", () => {
  it("takes the later report, whatever comes first", () => {
    const late = chatWith({ version: 3, title: "late", updated_at: "2026-01-02T00:00:00Z" });
    const early = chatWith({ version: 2, title: "early" });
    const state = reduceList(withPage(NO_CHATS, [late], "next"), { event: "changed", data: early });
    expect(state.chats.get("c1")?.title).toBe("late");
    expect(state).toMatchObject({ cursor: "next", loaded: true });
  });

  it("forgets what was removed", () => {
    const state = withPage(NO_CHATS, [chatWith()], null);
    expect(reduceList(state, { event: "removed", data: { id: "c1" } }).chats.size).toBe(0);
    expect(reduceList(state, { event: "removed", data: { id: "other" } })).toBe(state);
  });
});

describe("the headings", () => {
  const now = new Date("2026-03-15T12:00:00");
  const ago = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString();

  it("follow the days", () => {
    expect([0, 1, 3, 20, 200].map(days => headingOf(at(ago(days)), now))).toEqual([
      "today",
      "yesterday",
      "week",
      "month",
      "older",
    ]);
    expect(headingOf(at(ago(200), { pinned: true }), now)).toBe("pinned");
  });

  it("leave out sub-agents, agents of runs and archived chats; the newest stand first", () => {
    const groups = grouped(
      [
        at(ago(0), { id: "a", updated_at: "2026-03-15T08:00:00Z" }),
        at(ago(0), { id: "b", updated_at: "2026-03-15T09:00:00Z" }),
        at(ago(0), { id: "child", parent_id: "a" }),
        at(ago(0), { id: "run", run_id: "r" }),
        at(ago(0), { id: "old", archived: true }),
      ],
      now,
    );
    expect(groups.map(group => [group.heading, group.chats.map(chat => chat.id)])).toEqual([
      ["today", ["b", "a"]],
    ]);
  });
});

describe("the mark of a chat", () => {
  it("says the most urgent thing", () => {
    expect(markOf(chatWith({ status: "requires_action" }), 0)).toBe("needs_you");
    expect(markOf(chatWith({ action: CHILD_ASKS }), 0)).toBe("needs_you");
    expect(markOf(chatWith({ status: "interrupting" }), 0)).toBe("running");
    expect(markOf(chatWith({ status: "error" }), 5)).toBe("failed");
    expect(markOf(chatWith({ version: 6 }), 5)).toBe("unread");
    expect(markOf(chatWith({ version: 6, archived: true }), 5)).toBeNull();
    expect(markOf(chatWith({ version: 5 }), 5)).toBeNull();
    expect(markOf(chatWith({ version: 5 }), undefined)).toBeNull();
  });
});
