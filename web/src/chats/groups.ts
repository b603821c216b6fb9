// Which chats stand under which heading, in which order. Pure: the moment is passed in.

import type { Chat } from "@/api/schema";

export type Heading = "pinned" | "today" | "yesterday" | "week" | "month" | "older";

export interface Group {
  heading: Heading;
  chats: readonly Chat[];
}

const ORDER: readonly Heading[] = ["pinned", "today", "yesterday", "week", "month", "older"];
const DAY_MS = 24 * 3600 * 1000;

export function grouped(chats: Iterable<Chat>, now: Date, archived = false): Group[] {
  const groups = new Map<Heading, Chat[]>(ORDER.map(heading => [heading, []]));
  for (const chat of chats) {
    if (chat.archived !== archived || chat.parent_id !== null || chat.run_id !== null) continue;
    groups.get(headingOf(chat, now))?.push(chat);
  }
  return ORDER.flatMap(heading => {
    const found = groups.get(heading) ?? [];
    return found.length === 0 ? [] : [{ heading, chats: found.sort(newestFirst) }];
  });
}

export function headingOf(chat: Chat, now: Date): Heading {
  if (chat.pinned) return "pinned";
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const at = Date.parse(chat.updated_at);
  if (at >= midnight) return "today";
  if (at >= midnight - DAY_MS) return "yesterday";
  if (at >= midnight - 7 * DAY_MS) return "week";
  if (at >= midnight - 30 * DAY_MS) return "month";
  return "older";
}

function newestFirst(one: Chat, other: Chat): number {
  if (one.updated_at !== other.updated_at) return one.updated_at < other.updated_at ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}
