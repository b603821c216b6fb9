// Comments on changed lines, kept until they are sent, and the message that tells them to the agent.

import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";
import type { Line } from "./parse";

export interface Comment {
  id: string;
  path: string;
  /** The lines it is about, as the diff shows them. */
  lines: readonly Line[];
  text: string;
}

/** By chat. Not part of the panel: it may be closed in between. */
export const useComments = create<Record<string, readonly Comment[]>>()(
  // They survive a reload, as drafts do.
  persist((): Record<string, readonly Comment[]> => ({}), {
    name: "holdfast.comments",
    storage: createJSONStorage(() => localStorage),
  }),
);

export function putComment(chatId: string, comment: Comment): void {
  useComments.setState(all => ({
    [chatId]: [...(all[chatId] ?? []).filter(one => one.id !== comment.id), comment],
  }));
}

export function dropComment(chatId: string, id: string): void {
  useComments.setState(all => ({ [chatId]: (all[chatId] ?? []).filter(one => one.id !== id) }));
}

export function dropComments(chatId: string): void {
  useComments.setState({ [chatId]: [] });
}

/** Where a comment stands: under the last of its lines. */
export function commentKey(path: string, line: Line): string {
  return `${path}:${line.kind === "removed" ? `-${line.old}` : line.new}`;
}

const SIGNS = { same: " ", added: "+", removed: "-" };

/** Pure: what the agent reads. */
export function messageOf(comments: readonly Comment[], words: Words): string {
  return [
    words.lead(comments.length),
    ...comments.map(comment => {
      const quote = comment.lines.map(line => SIGNS[line.kind] + line.text).join("\n");
      const fence = "`".repeat(Math.max(3, longestTicks(quote) + 1));
      const where = words.where(comment.path, rangeOf(comment.lines));
      return `${where}\n${fence}diff\n${quote}\n${fence}\n${comment.text}`;
    }),
  ].join("\n\n");
}

interface Words {
  lead: (count: number) => string;
  where: (path: string, lines: string) => string;
}

export function rangeOf(lines: readonly Line[]): string {
  const numbers = lines.map(line => line.new ?? line.old ?? 0);
  const [first, last] = [Math.min(...numbers), Math.max(...numbers)];
  return first === last ? String(first) : `${first}-${last}`;
}

function longestTicks(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
}
