// The person's chats: pages read from the server, kept current by the list's feed. One for the whole page.

import { create } from "zustand";
import { call } from "@/api/client";
import type { Chat } from "@/api/schema";
import { Connection, type Link } from "@/feed/connection";
import type { ListEvent } from "@/feed/events";
import { type ListState, NO_CHATS, reduceList, withChats, withPage } from "@/feed/list";
import { shared } from "@/feed/shared";
import { readSeen } from "./seen";

const PAGE = 60;

interface Chats extends ListState {
  link: Link;
}

export const useChats = create<Chats>(() => ({ ...NO_CHATS, link: "connecting" }));

/** Watches the list until the answer is called; `onTold` hears every event. */
export function watchChats(onTold: (event: ListEvent) => void): () => void {
  const take = (told: readonly ListEvent[]) => {
    useChats.setState(state => told.reduce<ListState>(reduceList, state));
    // A list that missed much is not told all of it: it is read again.
    if (told.some(one => one.event === "caught_up")) void loadFirst();
    for (const one of told) onTold(one);
  };
  const link = (now: Link) => useChats.setState({ link: now });
  void loadFirst();
  return shared<readonly ListEvent[], Link>("holdfast.list", {
    lead: (events, links) => {
      const connection = new Connection({
        path: () => "/feed",
        onEvents: told => events(told as ListEvent[]),
        onLink: links,
        always: true,
      });
      connection.start();
      return () => connection.stop();
    },
    onEvents: take,
    onState: link,
  });
}

async function loadFirst(): Promise<void> {
  void readSeen().catch(() => undefined);
  const pages = Promise.all([
    call("GET /chats", { query: { limit: PAGE } }),
    call("GET /chats", { query: { limit: PAGE, pinned: true } }),
  ]);
  // Who cannot read the list now is told when the feed is there again.
  const [page, pinned] = await pages.catch(() => [null, null]);
  if (page === null || pinned === null) return;
  useChats.setState(state => {
    // Pages that were read before still count; where the list goes on is known from the last of them.
    const cursor = state.loaded ? state.cursor : page.next_cursor;
    return withPage(withChats(state, pinned.items), page.items, cursor);
  });
}

let loading: Promise<void> | null = null;

export function loadMore(): Promise<void> {
  const { cursor, loaded } = useChats.getState();
  if (!loaded || cursor === null) return Promise.resolve();
  loading ??= call("GET /chats", { query: { limit: PAGE, cursor } })
    .then(page => useChats.setState(state => withPage(state, page.items, page.next_cursor)))
    .finally(() => {
      loading = null;
    });
  return loading;
}

/** What an answer to a request says about a chat. */
export function know(...chats: readonly Chat[]): void {
  useChats.setState(state => withChats(state, chats));
}

export function forget(id: string): void {
  useChats.setState(state => reduceList(state, { event: "removed", data: { id } }));
}

export function forgetAll(): void {
  useChats.setState({ ...NO_CHATS, link: "connecting" });
}
