// Keys of actions: written "mod+shift+k", where mod is Ctrl, or Cmd on a Mac.

const MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

const NAMES: Record<string, string> = {
  mod: MAC ? "⌘" : "Ctrl",
  shift: MAC ? "⇧" : "Shift",
  alt: MAC ? "⌥" : "Alt",
  enter: "Enter",
  escape: "Esc",
  arrowup: "↑",
  arrowdown: "↓",
};

export function keyNames(keys: string): string[] {
  return keys.split("+").map(key => NAMES[key] ?? key.toUpperCase());
}

export type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">;

export function matches(keys: string, event: Pressed, mac = MAC): boolean {
  const wanted = keys.split("+");
  const key = wanted.at(-1) ?? "";
  const mod = mac ? event.metaKey : event.ctrlKey;
  const other = mac ? event.ctrlKey : event.metaKey;
  // A sign like "?" is typed with shift on some keyboards and without on others.
  const sign = key.length === 1 && !/[a-z0-9]/.test(key);
  return (
    event.key.toLowerCase() === key &&
    mod === wanted.includes("mod") &&
    !other &&
    event.altKey === wanted.includes("alt") &&
    (sign || event.shiftKey === wanted.includes("shift"))
  );
}

/** Keys without Ctrl, Cmd or Alt are letters for whoever writes. */
export function isForWriting(keys: string): boolean {
  return !keys.includes("mod+") && !keys.includes("alt+") && keys !== "escape";
}
