// The changes as one list of rows, so that only those in sight are drawn. Pure.

import { type Comment, commentKey } from "./comments";
import { counterparts, type DiffFile, type Line, type Pair, pairs } from "./parse";

export type Row =
  | { kind: "file"; key: string; file: DiffFile; open: boolean }
  | { kind: "note"; key: string; file: DiffFile }
  | { kind: "hunk"; key: string; text: string; file: DiffFile; index: number }
  | { kind: "line"; key: string; file: DiffFile; line: Line; other: Line | null }
  | { kind: "pair"; key: string; file: DiffFile; pair: Pair }
  | { kind: "comment"; key: string; comment: Comment }
  | { kind: "editor"; key: string; file: DiffFile; lines: readonly Line[] };

export interface Editing {
  path: string;
  lines: readonly Line[];
}

export interface Look {
  split: boolean;
  /** Files that are not as they are at first: very long ones are folded. */
  toggled: ReadonlySet<string>;
  comments: readonly Comment[];
  editing: Editing | null;
  /** Each hunk can be decided on, so each has a head. */
  decided?: boolean;
}

const LONG = 400;

/** Names a file of a diff: its path, if nothing else does. */
export function idOf(file: DiffFile): string {
  return file.id ?? file.path;
}

export function isOpen(file: DiffFile, toggled: ReadonlySet<string>): boolean {
  return toggled.has(idOf(file)) !== file.added + file.removed <= LONG;
}

export function rowsOf(files: readonly DiffFile[], look: Look): Row[] {
  const rows: Row[] = [];
  const commented = new Map<string, Comment[]>();
  for (const comment of look.comments) {
    const key = keyOf(comment.path, comment.lines);
    commented.set(key, [...(commented.get(key) ?? []), comment]);
  }
  const editing = look.editing && keyOf(look.editing.path, look.editing.lines);
  for (const file of files) {
    const open = isOpen(file, look.toggled);
    const id = idOf(file);
    rows.push({ kind: "file", key: id, file, open });
    if (!open) continue;
    if (file.hunks.length === 0) rows.push({ kind: "note", key: `${id} note`, file });
    const under = (line: Line | null) => {
      if (line === null) return;
      const key = commentKey(file.path, line);
      for (const comment of commented.get(key) ?? []) {
        rows.push({ kind: "comment", key: comment.id, comment });
      }
      if (key === editing && look.editing) {
        rows.push({ kind: "editor", key: `${key} editor`, file, lines: look.editing.lines });
      }
    };
    file.hunks.forEach((hunk, index) => {
      if (look.decided || !beginsAtFirst(hunk.lines)) {
        rows.push({ kind: "hunk", key: `${id} @${index}`, text: hunk.context, file, index });
      }
      if (look.split) {
        for (const pair of pairs(hunk.lines)) {
          rows.push({ kind: "pair", key: `${id} ${pair.left?.old}|${pair.right?.new}`, file, pair });
          if (pair.left?.kind === "removed") under(pair.left);
          under(pair.right);
        }
      } else {
        const others = counterparts(hunk.lines);
        for (const line of hunk.lines) {
          const other = others.get(line) ?? null;
          rows.push({ kind: "line", key: commentKey(id, line), file, line, other });
          under(line);
        }
      }
    });
  }
  return rows;
}

/** Nothing is left out in front of it. */
function beginsAtFirst(lines: readonly Line[]): boolean {
  return lines[0]?.old === 1 || lines[0]?.new === 1;
}

function keyOf(path: string, lines: readonly Line[]): string {
  const last = lines.at(-1);
  return last === undefined ? "" : commentKey(path, last);
}

/** All lines of the file from one to another, in the order of the diff: for a comment on several. */
export function linesBetween(file: DiffFile, one: Line, other: Line): Line[] {
  for (const hunk of file.hunks) {
    const [a, b] = [hunk.lines.indexOf(one), hunk.lines.indexOf(other)];
    if (a >= 0 && b >= 0) return hunk.lines.slice(Math.min(a, b), Math.max(a, b) + 1);
  }
  return [other];
}
