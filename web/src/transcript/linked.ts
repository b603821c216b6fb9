// The message that the address names: found, loaded where it is not here yet, and marked.

import { useLocation } from "@tanstack/react-router";
import { useCallback, useEffect, useState } from "react";
import { textOf } from "@/api/problem";
import { useChat, useFeed } from "@/feed/hooks";
import { texts } from "@/texts";
import { toast } from "@/ui/view";

export interface Linked {
  /** What to scroll to; another object each time it is asked for. */
  target: { messageId: string } | null;
  go: (messageId: string) => void;
}

/** Pure: the message of this chat that the address names, or "". The address names the next chat while this one is
 * still shown, and that chat's message is not in this one. */
export function messageOf(location: { pathname: string; hash: string }, chatId: string): string {
  return location.pathname.replace(/\/$/, "") === `/chats/${chatId}` ? location.hash : "";
}

export function useLinked(): Linked {
  const feed = useFeed();
  const ready = useChat(state => state.caughtUp);
  const hash = useLocation({ select: location => messageOf(location, feed.chatId) });
  // The same link followed twice leads there twice.
  const visit = useLocation({ select: location => location.state.__TSR_key });
  const [target, setTarget] = useState<Linked["target"]>(null);
  const go = useCallback(
    async (messageId: string) => {
      try {
        if (await feed.loadAround(messageId)) setTarget({ messageId });
        else toast(texts.transcript.linkGone, "attention");
      } catch (error) {
        toast(textOf(error), "bad");
      }
    },
    [feed],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: `visit` is another one when the link is followed again
  useEffect(() => {
    if (ready && hash !== "") void go(hash);
  }, [ready, hash, visit, go]);
  return { target, go: messageId => void go(messageId) };
}
