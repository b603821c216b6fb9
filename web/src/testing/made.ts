// Chats, messages and the like for tests: complete, with what a test cares for on top.

import type { Action, Chat, Message, Usage } from "@/api/schema";
import type { FeedEvent } from "@/feed/events";

export const USAGE: Usage = {
  input: 0,
  output: 0,
  reasoning: 0,
  cache_read: 0,
  cache_write: 0,
  total: 0,
  context_used: null,
  context_limit: null,
  cost_usd_micros: 0,
  unpriced_steps: 0,
  tokens_per_second: null,
  estimated: false,
};

export function chatWith(change: Partial<Chat> = {}): Chat {
  const id = change.id ?? "c1";
  return {
    id,
    title: "A chat",
    summary: "",
    status: "idle",
    waiting: null,
    archived: false,
    model: null,
    effort: null,
    owner_id: "u1",
    parent_id: null,
    parent_call_id: null,
    root_id: id,
    run_id: null,
    origin: { kind: "person" },
    workspace_id: null,
    labels: [],
    pinned: false,
    version: 1,
    history_version: 1,
    queue_length: 0,
    last_error: null,
    retry: null,
    action: null,
    budget: null,
    usage: USAGE,
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:00Z",
    last_turn: null,
    children: 0,
    max_steps: null,
    provider_tools: null,
    debug: false,
    web: true,
    mode: "build",
    writes: "direct",
    ...change,
  };
}

export function messageWith(change: Partial<Message> = {}): Message {
  return {
    id: "m1",
    chat_id: "c1",
    turn: 1,
    role: "assistant",
    parts: [{ type: "text", text: "hello" }],
    revision: 1,
    visibility: "both",
    model: null,
    effort: null,
    usage: null,
    removed: false,
    interrupted: false,
    compaction: false,
    queue_item_id: null,
    created_by: null,
    created_at: "2026-01-01T00:00:00Z",
    ...change,
  };
}

/** Ids that sort as their numbers do. */
export const idOf = (n: number): string => `m${String(n).padStart(6, "0")}`;

export function messages(from: number, to: number): Message[] {
  return Array.from({ length: to - from + 1 }, (_, index) => messageWith({ id: idOf(from + index) }));
}

export function partEvent(
  n: number,
  text: string,
  change: { first?: number; attempt?: number; history?: number } = {},
): FeedEvent {
  return {
    event: "part",
    data: {
      history_version: change.history ?? 5,
      attempt: change.attempt ?? 1,
      n,
      ...(change.first !== undefined && { first: change.first }),
      role: "assistant",
      part: { type: "text", text },
    },
  };
}

/** What a sub-agent asks, as its parent's chat tells it. */
export const CHILD_ASKS: Action = {
  calls: [
    { call_id: "a", kind: "question", name: "ask_user", input: {}, deadline_at: null, chat_id: "child" },
  ],
};
