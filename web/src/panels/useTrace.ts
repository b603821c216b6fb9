// The spans of the chat that is shown: what its feed tells, and older turns as they are asked for. Turns are
// read whole, from the newest backwards: a long chat costs what is looked at.

import { type UseQueryResult, useQueries } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { call } from "@/api/client";
import type { Span } from "@/api/schema";
import { useChat } from "@/feed/hooks";

const AT_ONCE = 8;
const PAGE = 200;

export interface Trace {
  spans: readonly Span[];
  /** There are turns that were not read yet. */
  more: boolean;
  loading: boolean;
  loadMore: () => void;
  /** Why some of it could not be read. */
  failed: unknown;
  retry: () => void;
}

export function useTrace(chatId: string): Trace {
  const live = useChat(state => state.spans);
  const caughtUp = useChat(state => state.caughtUp);
  // The feed tells everything of turns that begin from here on.
  const newest = useChat(state => state.messages.at(-1)?.turn ?? 0);
  const [from, setFrom] = useState<number | null>(null);
  if (from === null && caughtUp) setFrom(newest);
  const [batches, setBatches] = useState(1);
  const last = from ?? 0;
  const first = Math.max(1, last - batches * AT_ONCE + 1);
  const turns =
    from === null ? [] : Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => last - i);
  const read = useQueries({
    queries: turns.map(turn => ({
      queryKey: ["trace", chatId, turn, last],
      queryFn: ({ signal }: { signal: AbortSignal }) => turnSpans(chatId, turn, signal),
      staleTime: Number.POSITIVE_INFINITY,
    })),
    combine: together,
  });
  // Of turns that were not read the feed may have told a part: they come whole, or not at all.
  const spans = useMemo(
    () =>
      merged(
        read.spans,
        [...live.values()].filter(span => span.turn >= first),
      ),
    [read.spans, live, first],
  );
  return {
    spans,
    more: first > 1,
    loading: read.loading || from === null,
    loadMore: () => setBatches(count => count + 1),
    failed: read.failed,
    retry: read.retry,
  };
}

// Not within the hook: the same function gives the same answer, without looking at every span again.
function together(results: readonly UseQueryResult<Span[]>[]) {
  return {
    failed: results.find(result => result.isError)?.error ?? null,
    retry: () => {
      for (const result of results) if (result.isError) void result.refetch();
    },
    spans: results.flatMap(result => result.data ?? []),
    loading: results.some(result => result.isPending),
  };
}

async function turnSpans(chatId: string, turn: number, signal: AbortSignal): Promise<Span[]> {
  const spans: Span[] = [];
  let cursor: string | null = null;
  do {
    const page: { items: Span[]; next_cursor: string | null } = await call("GET /chats/{chat_id}/trace", {
      path: { chat_id: chatId },
      query: { turn, cursor, limit: PAGE },
      signal,
    });
    spans.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return spans;
}

const ATTEMPTED: readonly Span["kind"][] = ["step", "model_call", "compaction"];

/** Pure. Of two reports of a span the one that knows its end counts, else the one that was told. A step that
 *  was told and given up before it could be kept is none: its turn has ended, and it has not. */
export function merged(read: Iterable<Span>, told: Iterable<Span>): Span[] {
  const all = new Map<string, Span>();
  for (const span of read) all.set(span.id, span);
  for (const span of told) {
    const known = all.get(span.id);
    if (known === undefined || known.finished_at === null || span.finished_at !== null)
      all.set(span.id, span);
  }
  const spans = [...all.values()];
  const over = new Set(
    spans.flatMap(span => (span.kind === "turn" && span.finished_at !== null ? [span.turn] : [])),
  );
  return spans.filter(
    span => span.finished_at !== null || !over.has(span.turn) || !ATTEMPTED.includes(span.kind),
  );
}
