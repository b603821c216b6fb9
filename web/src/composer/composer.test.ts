import { describe, expect, it } from "vitest";
import { AFTER_START, loadDraft, NO_DRAFT, saveDraft } from "./drafts";
import { keysFor, meaningOf } from "./keys";
import { type Command, matching, triggerAt, withFile } from "./suggestions";

const press = (key: string, ...held: ("ctrl" | "meta" | "shift" | "alt")[]) => ({
  key,
  ctrlKey: held.includes("ctrl"),
  metaKey: held.includes("meta"),
  shiftKey: held.includes("shift"),
  altKey: held.includes("alt"),
});

describe("keys", () => {
  const where = { enterSends: true, busy: false, recalls: false };
  const busy = { ...where, busy: true };
  const off = { ...where, enterSends: false };
  it.each([
    ["Enter sends", press("Enter"), where, "queue"],
    ["Shift+Enter is a new line", press("Enter", "shift"), where, null],
    ["Ctrl+Enter sends too", press("Enter", "ctrl"), where, "queue"],
    ["while the agent works Enter queues", press("Enter"), busy, "queue"],
    ["Ctrl+Enter steers", press("Enter", "ctrl"), busy, "steer"],
    ["Cmd+Enter steers", press("Enter", "meta"), busy, "steer"],
    ["Alt+Enter interrupts and sends", press("Enter", "alt"), busy, "interrupt"],
    ["when Enter does not send, it is a new line", press("Enter"), off, null],
    ["and Ctrl+Enter sends", press("Enter", "ctrl"), off, "queue"],
    ["and Ctrl+Shift+Enter steers", press("Enter", "ctrl", "shift"), { ...off, busy: true }, "steer"],
    ["any other key is a letter", press("a"), where, null],
  ])("%s", (_, pressed, place, how) => {
    const meaning = meaningOf(pressed, place);
    expect(meaning?.kind === "send" ? meaning.how : null).toBe(how);
  });

  it("the arrows recall only where nothing would be lost", () => {
    expect(meaningOf(press("ArrowUp"), { ...where, recalls: true })).toEqual({ kind: "recall", step: 1 });
    expect(meaningOf(press("ArrowUp"), where)).toBeNull();
    expect(meaningOf(press("ArrowUp", "shift"), { ...where, recalls: true })).toBeNull();
  });

  it("Escape stops the agent, and nothing else", () => {
    expect(meaningOf(press("Escape"), busy)).toEqual({ kind: "stop" });
    expect(meaningOf(press("Escape"), where)).toBeNull();
  });

  it("are shown as they are", () => {
    expect(keysFor("steer", true)).toBe("mod+enter");
    expect(keysFor("steer", false)).toBe("mod+shift+enter");
  });
});

describe("suggestions", () => {
  it.each([
    ["/comp", 5, "command", "comp", 0],
    ["/model fast", 11, "command", "model fast", 0],
    ["see @src/ma", 11, "file", "src/ma", 4],
    ["@", 1, "file", "", 0],
    ["(@a", 3, "file", "a", 1],
  ])("%s at %i", (text, caret, kind, query, from) => {
    expect(triggerAt(text, caret)).toEqual({ kind, query, from });
  });
  it.each([
    ["a /path", 7],
    ["mail me@home", 12],
    ["/comp\nmore", 10],
    ["@file and more", 14],
    ["", 0],
  ])("none in %s at %i", (text, caret) => {
    expect(triggerAt(text, caret)).toBeNull();
  });

  it("the chosen file takes the place of what was typed", () => {
    const trigger = triggerAt("see @ma please", 7);
    if (trigger === null) throw new Error("nothing is suggested");
    expect(withFile("see @ma please", 7, trigger, "src/main.py")).toEqual(["see @src/main.py please", 17]);
    expect(withFile("@", 1, { kind: "file", query: "", from: 0 }, "a b.md")).toEqual(['@"a b.md" ', 10]);
  });

  it("commands that begin so come first", () => {
    const command = (name: string, hint = ""): Command => ({ name, hint, run: () => undefined });
    const all = [command("compact", "Summarise"), command("export markdown"), command("rename", "Change it")];
    expect(matching(all, "co").map(one => one.name)).toEqual(["compact"]);
    expect(matching(all, "m").map(one => one.name)).toEqual(["compact", "export markdown", "rename"]);
    expect(matching(all, "nothing")).toEqual([]);
  });
});

describe("drafts", () => {
  const storage = (): Storage => {
    const kept = new Map<string, string>();
    return {
      getItem: key => kept.get(key) ?? null,
      setItem: (key, value) => void kept.set(key, value),
      removeItem: key => void kept.delete(key),
      clear: () => kept.clear(),
      key: () => null,
      get length() {
        return kept.size;
      },
    };
  };
  it("are kept by chat until they are empty", () => {
    const kept = storage();
    saveDraft("c1", { text: "hello", files: [] }, kept);
    expect(loadDraft("c1", kept).text).toBe("hello");
    expect(loadDraft("c2", kept)).toBe(NO_DRAFT);
    saveDraft("c1", { text: "", files: [] }, kept);
    expect(kept.length).toBe(0);
  });
  it("that cannot be read or kept cost nothing", () => {
    const kept = storage();
    kept.setItem("holdfast.draft.c1", "{broken");
    kept.setItem("holdfast.draft.c2", '{"text": 3}');
    expect(loadDraft("c1", kept)).toBe(NO_DRAFT);
    expect(loadDraft("c2", kept)).toBe(NO_DRAFT);
    const full = {
      ...kept,
      setItem: () => {
        throw new Error("full");
      },
    };
    saveDraft("c1", { text: "hello", files: [] }, full);
  });
});

it("the next new chat keeps the model, and starts in the usual mode", () => {
  const before = { text: "Plan it", files: [], model: "big", mode: "plan" };
  expect({ ...before, ...AFTER_START }).toEqual({ text: "", files: [], model: "big", mode: null });
});
