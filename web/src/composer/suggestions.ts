// What is suggested while one writes: commands after a "/" at the beginning, files after an "@". Pure.

export interface Trigger {
  kind: "command" | "file";
  query: string;
  /** Where what is replaced begins. */
  from: number;
}

export function triggerAt(text: string, caret: number): Trigger | null {
  const before = text.slice(0, caret);
  const command = /^\/([^\n]{0,60})$/.exec(before);
  if (command !== null) return { kind: "command", query: command[1] ?? "", from: 0 };
  const file = /(?:^|[\s(])@([^\s@]{0,200})$/.exec(before);
  if (file === null) return null;
  const query = file[1] ?? "";
  return { kind: "file", query, from: caret - query.length - 1 };
}

export interface Command {
  /** Without the slash: "model fast". */
  name: string;
  hint: string;
  /** What is written in its place, to be gone on with. */
  writes?: string;
  run?: () => void;
}

const MOST = 12;

/** Those whose words begin with what was typed, in their order; then those that only contain it. */
export function matching(commands: readonly Command[], query: string): Command[] {
  const wanted = query.trim().toLowerCase();
  const begins = commands.filter(one => one.name.toLowerCase().startsWith(wanted));
  const contains = commands.filter(
    one => !begins.includes(one) && `${one.name} ${one.hint}`.toLowerCase().includes(wanted),
  );
  return [...begins, ...contains].slice(0, MOST);
}

/** The text with the chosen file in place of what was typed, and where one goes on. */
export function withFile(text: string, caret: number, trigger: Trigger, path: string): [string, number] {
  const written = /\s/.test(path) ? `@"${path}" ` : `@${path} `;
  const after = text.slice(caret).replace(/^ /, "");
  return [text.slice(0, trigger.from) + written + after, trigger.from + written.length];
}
