// The chats that are open or were lately: a store and a connection each. One that is left keeps its state and
// the place in its feed, so that coming back costs only what happened meanwhile.

import { createStore, type StoreApi } from "zustand/vanilla";
import { call } from "@/api/client";
import { Connection, type Link, type Told } from "./connection";
import type { FeedEvent } from "./events";
import { adopting, reduceAll, withGapInFront, withIsland, withOlder } from "./reducer";
import { type ChatState, EMPTY } from "./state";

/** Messages that a chat opens with. */
export const TAIL = 100;
const PAGE = 100;
const KEPT = 8;

export interface OpenChat extends ChatState {
  link: Link;
}

export class ChatFeed {
  readonly store: StoreApi<OpenChat> = createStore(() => ({ ...EMPTY, link: "connecting" as Link }));
  private readonly connection: Connection;
  /** A history that is being told anew; what is shown stays until it is complete. */
  private anew: ChatState | null = null;
  private users = 0;
  private readonly loading = new Map<string, Promise<void>>();

  constructor(readonly chatId: string) {
    this.connection = new Connection({
      path: () => `/chats/${chatId}/feed${this.connection.cursor === null ? `?tail=${TAIL}` : ""}`,
      onEvents: events => this.take(events),
      onLink: link => this.store.setState({ link }),
    });
  }

  get idle(): boolean {
    return this.users === 0;
  }

  /** Watches until the answer is called. */
  use(): () => void {
    this.users += 1;
    if (this.users === 1) this.connection.start();
    return () => {
      this.users -= 1;
      if (this.users === 0) this.connection.stop();
    };
  }

  private take(events: Told[]): void {
    const told = events as FeedEvent[];
    if (told.some(one => one.event === "history_reset")) {
      // All of a long history would follow; its end is enough.
      this.anew = EMPTY;
      this.connection.restart();
      return;
    }
    const before = this.store.getState();
    const starting = this.anew ?? (before.caughtUp ? null : EMPTY);
    if (starting === null) {
      this.store.setState(reduceAll(before, told));
      return;
    }
    let state = reduceAll(starting, told);
    if (!state.caughtUp) {
      this.anew = state;
      return;
    }
    if (state.messages.length >= TAIL) state = withGapInFront(state);
    this.anew = null;
    this.store.setState(adopting(before, state));
  }

  // --- history ---

  /** Loads what is directly in front of a message. Asked twice, it is done once. */
  loadBefore(messageId: string): Promise<void> {
    return this.once(`before ${messageId}`, async () => {
      const page = await call("GET /chats/{chat_id}/messages", {
        path: { chat_id: this.chatId },
        query: { before: messageId, limit: PAGE },
      });
      this.store.setState(state =>
        withOlder(state, messageId, { items: page.items, more: page.next_cursor !== null }),
      );
    });
  }

  /** Loads a message with what is around it. Answers whether it is in the history. */
  async loadAround(messageId: string): Promise<boolean> {
    const has = () => this.store.getState().messages.some(message => message.id === messageId);
    if (has()) return true;
    await this.once(`around ${messageId}`, async () => {
      const path = { chat_id: this.chatId };
      const [before, after] = await Promise.all([
        call("GET /chats/{chat_id}/messages", { path, query: { before: messageId, limit: PAGE / 2 } }),
        call("GET /chats/{chat_id}/messages", { path, query: { after: messageId, limit: PAGE / 2 } }),
      ]);
      const message = await call("GET /chats/{chat_id}/messages/{message_id}", {
        path: { chat_id: this.chatId, message_id: messageId },
      });
      if (message.removed) return;
      const items = [...before.items, message, ...after.items];
      this.store.setState(state => withIsland(state, { items, more: before.next_cursor !== null }));
    });
    return has();
  }

  private once(what: string, load: () => Promise<void>): Promise<void> {
    const running = this.loading.get(what);
    if (running !== undefined) return running;
    const promise = load().finally(() => this.loading.delete(what));
    this.loading.set(what, promise);
    return promise;
  }
}

export class ChatFeeds {
  private readonly feeds = new Map<string, ChatFeed>();

  of(chatId: string): ChatFeed {
    const feed = this.feeds.get(chatId) ?? new ChatFeed(chatId);
    // The last ones that were used are at the end.
    this.feeds.delete(chatId);
    this.feeds.set(chatId, feed);
    for (const [id, old] of this.feeds) {
      if (this.feeds.size <= KEPT) break;
      if (old.idle && id !== chatId) this.feeds.delete(id);
    }
    return feed;
  }
}
