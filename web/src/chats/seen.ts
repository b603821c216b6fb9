// Which chats a person has seen, up to which version: kept in this browser. A chat that nobody ever opened here
// is not unread because of that; it becomes so when something happens in it.

import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";
import type { Chat } from "@/api/schema";
import { needsYou } from "@/feed/state";

const MOST = 500;

interface Seen {
  versions: Record<string, number>;
}

export const useSeen = create<Seen>()(
  persist((): Seen => ({ versions: {} }), {
    name: "holdfast.seen",
    storage: createJSONStorage(() => localStorage),
  }),
);

export function markSeen(chat: Chat): void {
  const { versions } = useSeen.getState();
  if ((versions[chat.id] ?? -1) >= chat.version) return;
  const { [chat.id]: _, ...others } = versions;
  const kept = Object.entries(others).slice(-(MOST - 1));
  useSeen.setState({ versions: { ...Object.fromEntries(kept), [chat.id]: chat.version } });
}

export type Mark = "needs_you" | "running" | "failed" | "unread" | null;

/** The one thing that a chat's row says about it. */
export function markOf(chat: Chat, seen: number | undefined): Mark {
  if (needsYou(chat)) return "needs_you";
  if (chat.status === "running" || chat.status === "interrupting") return "running";
  const unread = seen !== undefined && chat.version > seen;
  if (chat.status === "error") return "failed";
  return unread ? "unread" : null;
}
