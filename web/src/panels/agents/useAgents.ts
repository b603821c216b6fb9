// The sub-agents of a chat, looked at again while one of them works. They have feeds of their own; one request
// for all of them is cheaper than a connection each.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { childrenQuery } from "@/api/queries";
import type { Chat, Span } from "@/api/schema";
import { useChat } from "@/feed/hooks";
import { isBusy } from "./state";

const EVERY_MS = 2000;

export function useAgents(chatId: string): readonly Chat[] | undefined {
  return useQuery({
    ...childrenQuery(chatId),
    refetchInterval: query => (query.state.data?.some(isBusy) ? EVERY_MS : false),
  }).data;
}

/** The same for the chat that is shown, whose feed says when there is another one. */
export function useOwnAgents(chatId: string): readonly Chat[] | undefined {
  const queries = useQueryClient();
  const spans = useChat(state => state.spans);
  const told = useMemo(() => agentsTold(spans.values()), [spans]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was told is when to look again
  useEffect(
    () => void queries.invalidateQueries({ queryKey: ["children", chatId] }),
    [queries, chatId, told],
  );
  return useAgents(chatId);
}

/** For the tab: how many are at work. */
export function useAgentCount(chatId: string): number {
  return useOwnAgents(chatId)?.filter(isBusy).length ?? 0;
}

/** Changes whenever an agent was started or has ended. */
function agentsTold(spans: Iterable<Span>): string {
  let told = "";
  for (const span of spans) {
    const starts = span.kind === "tool_call" && span.name.startsWith("spawn_");
    if (starts || span.kind === "agent") told += `${span.id} ${span.outcome} `;
  }
  return told;
}
