// A chat's feed in components: `ChatFeedProvider` watches while it is shown, `useChat` takes what it needs.

import { createContext, type ReactNode, useContext, useEffect, useMemo } from "react";
import { useStore } from "zustand";
import type { ChatFeed, ChatFeeds, OpenChat } from "./chats";

const FeedsContext = createContext<ChatFeeds | null>(null);
const FeedContext = createContext<ChatFeed | null>(null);

export function FeedsProvider({ feeds, children }: { feeds: ChatFeeds; children: ReactNode }) {
  return <FeedsContext value={feeds}>{children}</FeedsContext>;
}

export function ChatFeedProvider({ chatId, children }: { chatId: string; children: ReactNode }) {
  const feeds = useContext(FeedsContext);
  if (feeds === null) throw new Error("ChatFeedProvider stands outside of FeedsProvider");
  const feed = useMemo(() => feeds.of(chatId), [feeds, chatId]);
  useEffect(() => feed.use(), [feed]);
  return <FeedContext value={feed}>{children}</FeedContext>;
}

/** The feed of the chat that is shown, to load history. */
export function useFeed(): ChatFeed {
  const feed = useContext(FeedContext);
  if (feed === null) throw new Error("useFeed stands outside of ChatFeedProvider");
  return feed;
}

/** A piece of the chat that is shown; draws again only when that piece is another one. */
export function useChat<T>(select: (state: OpenChat) => T): T {
  return useStore(useFeed().store, select);
}
