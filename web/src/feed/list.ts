// The chat list as the page knows it: (state, event) -> state, pure. Pages that were read and events that were
// told meet here; of two reports about a chat the later one counts.

import type { Chat } from "@/api/schema";
import type { ListEvent } from "./events";

export interface ListState {
  chats: ReadonlyMap<string, Chat>;
  /** Where the next page begins; null: there is none. */
  cursor: string | null;
  /** The first page is here. */
  loaded: boolean;
}

export const NO_CHATS: ListState = { chats: new Map(), cursor: null, loaded: false };

export function reduceList(state: ListState, event: ListEvent): ListState {
  switch (event.event) {
    case "created":
    case "changed":
    case "needs_you":
      return withChats(state, [event.data]);
    case "removed": {
      if (!state.chats.has(event.data.id)) return state;
      const chats = new Map(state.chats);
      chats.delete(event.data.id);
      return { ...state, chats };
    }
    default:
      return state;
  }
}

export function withChats(state: ListState, fresh: readonly Chat[]): ListState {
  const newer = fresh.filter(chat => isNewer(chat, state.chats.get(chat.id)));
  if (newer.length === 0) return state;
  const chats = new Map(state.chats);
  for (const chat of newer) chats.set(chat.id, chat);
  return { ...state, chats };
}

export function withPage(state: ListState, items: readonly Chat[], cursor: string | null): ListState {
  return { ...withChats(state, items), cursor, loaded: true };
}

function isNewer(chat: Chat, known: Chat | undefined): boolean {
  return known === undefined || chat.version > known.version || chat.updated_at >= known.updated_at;
}
