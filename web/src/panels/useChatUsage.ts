// What the chat that is shown has used, as the server counts it: in total and by turn, whatever is loaded here.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "@/api/client";
import type { Usage } from "@/api/schema";
import { useChat } from "@/feed/hooks";

export interface UsageOfChat {
  total: Usage | null;
  /** By the turn's number: the newest ones. */
  turns: ReadonlyMap<number, Usage>;
}

export function useChatUsage(chatId: string): UsageOfChat {
  const used = useChat(state => state.usage?.total ?? 0);
  const { data } = useQuery({
    queryKey: ["usage", "chat", chatId, "whole", used],
    queryFn: ({ signal }) => call("GET /chats/{chat_id}/usage", { path: { chat_id: chatId }, signal }),
    placeholderData: before => before,
  });
  return useMemo(
    () => ({
      total: data?.total ?? null,
      turns: new Map(data?.turns.map(one => [one.turn, one.usage] as const)),
    }),
    [data],
  );
}
