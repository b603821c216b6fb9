import { describe, expect, it } from "vitest";
import { chatWith } from "@/testing/made";
import { ACTIONS, actionOf } from "./all";
import { isForWriting, matches, type Pressed } from "./keys";
import { type Context, isOffered } from "./registry";

const pressed = (key: string, change: Partial<Pressed> = {}): Pressed => ({
  key,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...change,
});
const context = (change: Partial<Context> = {}): Context => ({
  chat: null,
  admin: false,
  navigate: () => {},
  ...change,
});
const offered = (id: string, given: Context) => isOffered(actionOf(id), given);

describe("the registry", () => {
  it("has every id and every key once", () => {
    const ids = ACTIONS.map(action => action.id);
    expect(new Set(ids).size).toBe(ids.length);
    const keys = ACTIONS.flatMap(action => action.keys ?? []);
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  });

  it("offers what can be done to the chat that is shown, and nothing else", () => {
    expect(offered("chat.delete", context())).toBe(false);
    const idle = context({ chat: chatWith() });
    const running = context({ chat: chatWith({ status: "running" }) });
    const failed = context({ chat: chatWith({ status: "error" }) });
    expect(["chat.interrupt", "chat.retry", "chat.archive"].map(id => offered(id, idle))).toEqual([
      false,
      false,
      true,
    ]);
    expect(["chat.interrupt", "chat.retry", "chat.archive"].map(id => offered(id, running))).toEqual([
      true,
      false,
      false,
    ]);
    expect(offered("chat.retry", failed)).toBe(true);
    expect(offered("chat.unpin", context({ chat: chatWith({ pinned: true }) }))).toBe(true);
    expect(offered("chat.parent", context({ chat: chatWith({ parent_id: "p" }) }))).toBe(true);
  });

  it("keeps what is for admins from others", () => {
    expect(offered("settings.users", context())).toBe(false);
    expect(offered("settings.users", context({ admin: true }))).toBe(true);
  });
});

describe("keys", () => {
  it("are Ctrl on one system and Cmd on the other", () => {
    expect(matches("mod+k", pressed("k", { ctrlKey: true }), false)).toBe(true);
    expect(matches("mod+k", pressed("k", { metaKey: true }), false)).toBe(false);
    expect(matches("mod+k", pressed("K", { metaKey: true }), true)).toBe(true);
    expect(matches("mod+k", pressed("k"), false)).toBe(false);
    expect(matches("mod+shift+f", pressed("F", { ctrlKey: true, shiftKey: true }), false)).toBe(true);
  });

  it("take a sign however it is typed", () => {
    expect(matches("?", pressed("?", { shiftKey: true }), false)).toBe(true);
    expect(matches("?", pressed("?"), false)).toBe(true);
  });

  it("that are letters are left to who writes", () => {
    expect(["?", "j", "mod+k", "alt+1", "escape"].map(isForWriting)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
