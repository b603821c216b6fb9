// What a key means where one writes. Pure.

export type How = "queue" | "steer" | "interrupt";
export type Meaning =
  | { kind: "send"; how: How }
  | { kind: "recall"; step: 1 | -1 }
  | { kind: "stop" }
  | { kind: "mode" }
  | null;

interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

interface Where {
  enterSends: boolean;
  /** The agent works: what is sent waits, joins in, or interrupts. */
  busy: boolean;
  /** Nothing is written, or what was recalled is not changed. */
  recalls: boolean;
}

export function meaningOf(pressed: Pressed, { enterSends, busy, recalls }: Where): Meaning {
  const mod = pressed.ctrlKey || pressed.metaKey;
  if (pressed.key === "Enter") {
    if (pressed.altKey && !mod) return { kind: "send", how: busy ? "interrupt" : "queue" };
    if (enterSends) {
      if (mod) return { kind: "send", how: busy ? "steer" : "queue" };
      return pressed.shiftKey ? null : { kind: "send", how: "queue" };
    }
    if (!mod) return null;
    return { kind: "send", how: busy && pressed.shiftKey ? "steer" : "queue" };
  }
  if (pressed.key === "Tab" && pressed.shiftKey && !mod && !pressed.altKey) return { kind: "mode" };
  const plain = !mod && !pressed.shiftKey && !pressed.altKey;
  if (busy && plain && pressed.key === "Escape") return { kind: "stop" };
  if (recalls && plain && pressed.key === "ArrowUp") return { kind: "recall", step: 1 };
  if (recalls && plain && pressed.key === "ArrowDown") return { kind: "recall", step: -1 };
  return null;
}

/** The keys as they are shown beside what they do. */
export function keysFor(how: How, enterSends: boolean): string {
  if (how === "interrupt") return "alt+enter";
  if (how === "steer") return enterSends ? "mod+enter" : "mod+shift+enter";
  return enterSends ? "enter" : "mod+enter";
}

/** What the keys do where one writes, for the list of shortcuts. */
export function keysShown(
  enterSends: boolean,
): readonly [what: "send" | How | "newline" | "recall" | "stop" | "mode", keys: string][] {
  return [
    ["send", keysFor("queue", enterSends)],
    ["newline", enterSends ? "shift+enter" : "enter"],
    ["steer", keysFor("steer", enterSends)],
    ["interrupt", keysFor("interrupt", enterSends)],
    ["stop", "escape"],
    ["recall", "arrowup"],
    ["mode", "shift+tab"],
  ];
}
