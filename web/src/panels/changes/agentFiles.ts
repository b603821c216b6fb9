// The changes of a chat as files of a diff, and as a tree of directories. Pure.

import type { ChangeShown } from "@/api/schema";
import { type DiffFile, parseDiff, type Status } from "./parse";

const STATUS: Record<ChangeShown["operation"], Status> = {
  create: "added",
  edit: "changed",
  delete: "deleted",
  rename: "renamed",
};

export function fileOf(item: ChangeShown): DiffFile {
  const [parsed] = parseDiff(item.diff);
  return {
    id: item.id,
    path: item.path,
    oldPath: item.old_path ?? item.path,
    status: STATUS[item.operation],
    binary: parsed === undefined && item.hunks === 0,
    leftOut: item.diff_left_out,
    hunks: parsed?.hunks ?? [],
    added: item.additions,
    removed: item.deletions,
  };
}

export interface TreeRow {
  depth: number;
  /** The last part of the path; of a directory with one entry, the parts together. */
  name: string;
  path: string;
  /** Null: a directory. */
  item: ChangeShown | null;
}

export const MARKS: Record<ChangeShown["operation"], string> = {
  create: "A",
  edit: "M",
  delete: "D",
  rename: "R",
};

/** Directories once, above what is in them; items come in the order of their paths. */
export function treeOf(items: readonly ChangeShown[]): TreeRow[] {
  const rows: TreeRow[] = [];
  let open: string[] = [];
  for (const item of [...items].sort((one, other) => (one.path < other.path ? -1 : 1))) {
    const parts = item.path.split("/");
    const directories = parts.slice(0, -1);
    let same = 0;
    while (same < open.length && open[same] === directories[same]) same++;
    for (let depth = same; depth < directories.length; depth++) {
      const path = directories.slice(0, depth + 1).join("/");
      rows.push({ depth, name: `${directories[depth]}/`, path, item: null });
    }
    open = directories;
    rows.push({ depth: directories.length, name: parts.at(-1) ?? "", path: item.path, item });
  }
  return rows;
}

/** What may be done with a change in this state, by the key that does it. */
export function verbsOf(state: ChangeShown["state"]): readonly Verb[] {
  if (state === "pending" || state === "conflict") return ["apply", "reject"];
  return state === "applied" ? ["undo"] : [];
}

/** The files of these changes that nobody commented on. */
export function uncommented(items: readonly ChangeShown[], comments: readonly { path: string }[]): string[] {
  const spoken = new Set(comments.map(comment => comment.path));
  return items.flatMap(item => (spoken.has(item.path) ? [] : [item.path]));
}

export type Verb = "apply" | "reject" | "undo";
