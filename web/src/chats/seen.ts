// Which chats a person has seen, up to which version: kept on the server, so that what was read on one device is
// read on all; and in this browser, to know it at once. A chat that nobody ever opened is not unread because of that.

import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";
import { call } from "@/api/client";
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
  keepSoon();
}

/** The name of the user's setting. */
const KEY = "page.seen";
const KEPT_AFTER_MS = 4000;
let keeping = false;

/** Not for every step of a turn: some seconds after the first of them. */
function keepSoon(): void {
  if (keeping) return;
  keeping = true;
  setTimeout(() => {
    keeping = false;
    // What cannot be kept now is kept with the next one.
    void keep().catch(() => undefined);
  }, KEPT_AFTER_MS);
}

async function keep(): Promise<void> {
  await readSeen();
  await call("PATCH /settings", { body: { [KEY]: useSeen.getState().versions } });
}

/** What was seen elsewhere, too. */
export async function readSeen(): Promise<void> {
  const kept = (await call("GET /settings")).user[KEY];
  useSeen.setState(({ versions }) => ({ versions: newest(versions, kept) }));
}

/** Pure: of each chat the newest version that was seen anywhere. */
export function newest(here: Readonly<Record<string, number>>, kept: unknown): Record<string, number> {
  const all: Record<string, number> = {};
  if (typeof kept === "object" && kept !== null) {
    for (const [id, version] of Object.entries(kept)) if (typeof version === "number") all[id] = version;
  }
  for (const [id, version] of Object.entries(here)) all[id] = Math.max(version, all[id] ?? -1);
  return Object.fromEntries(Object.entries(all).slice(-MOST));
}

export type Mark = "needs_you" | "running" | "failed" | "unread" | null;

/** The one thing that a chat's row says about it. */
export function markOf(chat: Chat, seen: number | undefined): Mark {
  if (needsYou(chat)) return "needs_you";
  if (chat.status === "running" || chat.status === "interrupting") return "running";
  const unread = !chat.archived && seen !== undefined && chat.version > seen;
  if (chat.status === "error") return "failed";
  return unread ? "unread" : null;
}
