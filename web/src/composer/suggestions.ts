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

/** A line that begins like a command: its name and what follows. */
export function commandIn(text: string): { name: string; rest: string } | null {
  const found = /^\/([a-z][\w-]{0,40})(?:\s+([\s\S]*))?$/i.exec(text.trim());
  return found === null ? null : { name: (found[1] ?? "").toLowerCase(), rest: (found[2] ?? "").trim() };
}

/** The command that was probably meant: one whose name differs by a letter or two. */
export function nearest(commands: readonly Command[], name: string): string | null {
  const names = [...new Set(commands.map(one => one.name.split(" ")[0] ?? ""))];
  const ranked = names
    .map(one => ({ one, away: distance(one, name) }))
    .filter(({ one, away }) => away <= Math.max(1, Math.floor(one.length / 3)))
    .sort((a, b) => a.away - b.away);
  return ranked[0]?.one ?? null;
}

/** How many letters must be changed, added or left out. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, wanted] of [...other].entries()) {
      next.push(
        Math.min((row[j] ?? 0) + (letter === wanted ? 0 : 1), (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1),
      );
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** `/workflow name {"json": "arguments"}`: what to start; null: this is none. */
export function workflowIn(rest: string): { name: string; args: unknown } | "bad_json" | null {
  const found = /^([\w.-]{1,100})(?:\s+([{[][\s\S]*))?$/.exec(rest);
  if (found === null) return null;
  try {
    return { name: found[1] ?? "", args: found[2] === undefined ? undefined : JSON.parse(found[2]) };
  } catch {
    return "bad_json";
  }
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
