// What is shown one below the other: messages, with the steps of an agent that says nothing in between put
// together. Pure. A row keeps its key while it grows at its end and while older history is put in front of it.

import type { Message } from "@/api/schema";
import { type ChatState, keyOf, type LivePart, type Preview, previewKey } from "@/feed/state";

export interface Entry {
  key: string;
  /** Null while it streams. */
  message: Message | null;
  role: Message["role"];
  parts: readonly LivePart[];
}

export interface Row {
  key: string;
  kind: "user" | "agent" | "notice";
  entries: readonly Entry[];
}

/** `breaks`: messages that began a row when history was loaded up to them; they still do. */
export function rowsOf(
  state: Pick<ChatState, "messages" | "keys">,
  breaks: ReadonlySet<string> = new Set(),
): Row[] {
  const rows: Row[] = [];
  let broken = false;
  for (const message of state.messages) {
    const entry = { key: keyOf(state, message), message, role: message.role, parts: message.parts };
    broken ||= breaks.has(message.id);
    if (!isShown(entry)) continue;
    put(rows, entry, broken);
    broken = false;
  }
  return rows;
}

/** The same rows, with the objects of before where nothing changed. */
export function reusing(before: readonly Row[], rows: Row[]): Row[] {
  const known = new Map(before.map(row => [row.key, row]));
  return rows.map(row => {
    const old = known.get(row.key);
    const same =
      old !== undefined &&
      old.entries.length === row.entries.length &&
      old.entries.every((entry, index) => entry.parts === row.entries[index]?.parts);
    return same ? old : row;
  });
}

/** The rows with what streams now. */
export function withPreview(rows: readonly Row[], preview: Preview | null): readonly Row[] {
  if (preview === null || preview.parts.length === 0) return rows;
  const all = [...rows];
  put(all, { key: previewKey(preview), message: null, role: preview.role, parts: preview.parts }, false);
  return all;
}

function put(rows: Row[], entry: Entry, breaks: boolean): void {
  const last = rows.at(-1);
  const kind = kindOf(entry);
  if (!breaks && kind === "agent" && last?.kind === "agent" && isWork(entry)) {
    rows[rows.length - 1] = { ...last, entries: [...last.entries, entry] };
  } else {
    rows.push({ key: entry.key, kind, entries: [entry] });
  }
}

function kindOf(entry: Entry): Row["kind"] {
  if (entry.role === "user") return "user";
  return entry.role === "system" ? "notice" : "agent";
}

/** Results are shown with their calls. */
function isShown(entry: Entry): boolean {
  return entry.parts.some(part => part.type !== "tool_result") || entry.message?.interrupted === true;
}

/** Nothing is said in it: reasoning, calls, and files that a tool shows. */
function isWork(entry: Entry): boolean {
  if (isSummary(entry)) return false;
  return entry.parts.every(part => part.type !== "text" && part.type !== "source" && part.type !== "notice");
}

/** A compaction, which stands by itself. */
function isSummary(entry: Entry): boolean {
  return entry.message?.compaction === true;
}

// --- inside of a row ---

export type Call = Extract<LivePart, { type: "tool_call" | "tool_call_delta" }>;

export interface Line {
  key: string;
  part: LivePart;
  /** The message it is in; null while it streams. */
  message: Message | null;
  /** More of it may come. */
  live: boolean;
}

export type Block = { kind: "part"; line: Line } | { kind: "steps"; lines: readonly Line[] };

/** The parts of a row in order; calls, with the reasoning between them, are one block of steps. */
export function blocksOf(row: Row): Block[] {
  const blocks: Block[] = [];
  let steps: Line[] = [];
  const end = () => {
    if (steps.some(line => isCall(line.part))) blocks.push({ kind: "steps", lines: steps });
    else for (const line of steps) blocks.push({ kind: "part", line });
    steps = [];
  };
  for (const line of linesOf(row)) {
    if (isCall(line.part) || line.part.type === "reasoning") {
      steps.push(line);
    } else if (line.part.type !== "tool_result") {
      end();
      blocks.push({ kind: "part", line });
    }
  }
  end();
  return blocks;
}

function linesOf(row: Row): Line[] {
  return row.entries.flatMap(entry =>
    entry.parts.map((part, index) => ({
      key: isCall(part) ? part.call_id : `${entry.key}.${index}`,
      part,
      message: entry.message,
      live: entry.message === null && index === entry.parts.length - 1,
    })),
  );
}

export function isCall(part: LivePart): part is Call {
  return part.type === "tool_call" || part.type === "tool_call_delta";
}

/** So many lines are never folded, and so many of the last stay when others are. */
const UNFOLDED = 6;
const KEPT = 3;

/** How many lines at the beginning of a block of steps are folded. */
export function foldedOf(lines: readonly Line[]): number {
  return lines.length > UNFOLDED ? lines.length - KEPT : 0;
}

// --- looking for a message ---

/** The row a message is in, or -1. */
export function rowOf(rows: readonly Row[], messageId: string): number {
  const exact = rows.findIndex(row => row.entries.some(entry => entry.message?.id === messageId));
  if (exact >= 0 || messageId.length !== 36) return exact;
  // A message that has no row of its own (the results of calls) belongs to the row before it: ids are in order.
  const first = rows[0]?.entries[0]?.message?.id ?? "";
  if (messageId < first) return -1;
  return rows.findLastIndex(row => (row.entries[0]?.message?.id ?? "~") <= messageId);
}

/** The newest message of a row. */
export function lastMessage(row: Row): Message | null {
  return row.entries.findLast(entry => entry.message !== null)?.message ?? null;
}

/** A gap in the history at one of these rows, to be filled now. */
export function gapAmong(
  rows: readonly Row[],
  from: number,
  to: number,
  gaps: ReadonlySet<string>,
): string | null {
  for (const gap of gaps) {
    const at = rows.findIndex(row => (lastMessage(row)?.id ?? "") >= gap);
    if (at >= from && at <= to) return gap;
  }
  return null;
}
