// What a screen reader is told about the chat that is shown: answers when they are whole, and what the agent
// waits for.

import { useEffect, useRef } from "react";
import type { OpenChat } from "@/feed/chats";
import { useFeed } from "@/feed/hooks";
import { texts } from "@/texts";
import { announce } from "@/ui/view";

const LONGEST = 1000;
const t = texts.announce;

export function useAnnouncements(): void {
  const feed = useFeed();
  const before = useRef<OpenChat | null>(null);
  useEffect(() => {
    before.current = feed.store.getState();
    return feed.store.subscribe(state => {
      const sentences = before.current === null ? [] : news(before.current, state);
      before.current = state;
      if (sentences.length > 0) announce(sentences.join(" "));
    });
  }, [feed]);
}

/** Pure: the sentences that lead from one state to the next. */
export function news(before: OpenChat, after: OpenChat): string[] {
  if (!before.caughtUp || !after.caughtUp) return [];
  const sentences: string[] = [];
  if (before.messages !== after.messages) {
    const last = before.messages.at(-1)?.id ?? "";
    for (const message of after.messages) {
      if (message.id <= last || message.role !== "assistant") continue;
      const text = message.parts.flatMap(part => (part.type === "text" ? [part.text] : [])).join(" ");
      if (text.trim() !== "") sentences.push(t.answered(text.slice(0, LONGEST)));
    }
  }
  const [was, is] = [before.chat?.status, after.chat?.status];
  if (was !== is) {
    if (is === "requires_action") sentences.push(t.needsYou);
    if (is === "error") sentences.push(t.failed(after.chat?.last_error?.message ?? ""));
    if (is === "idle" && was === "running") sentences.push(t.done);
  }
  return sentences;
}
