// Spans for tests, made of what a test cares about.

import type { Message, Span, Usage } from "@/api/schema";

/** A moment so many seconds into the day. */
export function at(seconds: number): string {
  return new Date(Date.parse("2026-01-01T00:00:00Z") + seconds * 1000).toISOString();
}

export function span(change: Partial<Span> & Pick<Span, "id" | "kind">): Span {
  return {
    parent_id: null,
    chat_id: "chat",
    message_id: null,
    turn: 1,
    name: change.kind,
    truncated: false,
    asked_at: null,
    cache: null,
    started_at: at(0),
    finished_at: at(1),
    duration_ms: 1000,
    estimated: false,
    usage: null,
    diff: null,
    outcome: "finished",
    failure: null,
    approved_by: null,
    ...change,
  };
}

export function usage(change: Partial<Usage> = {}): Usage {
  return {
    input: 0,
    output: 0,
    reasoning: 0,
    cache_read: 0,
    cache_write: 0,
    total: (change.input ?? 0) + (change.output ?? 0),
    context_used: null,
    context_limit: null,
    cost_usd_micros: 0,
    estimated: false,
    unpriced_steps: 0,
    tokens_per_second: null,
    ...change,
  };
}

export function message(change: Partial<Message> & Pick<Message, "id" | "role">): Message {
  return {
    chat_id: "chat",
    turn: 1,
    parts: [{ type: "text", text: change.id }],
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
    created_at: at(0),
    ...change,
  };
}

/** A turn with one step: a model call from `start` on for a second, then a tool for two. */
export function turn(number: number, start = 0, outcome: string | null = "succeeded"): Span[] {
  const step = `step-${number}-1`;
  const used = usage({ input: 1000, output: 50, cache_read: 700, cache_write: 200, cost_usd_micros: 3000 });
  const own = { turn: number, started_at: at(start) };
  return [
    span({
      ...own,
      id: `turn-${number}`,
      kind: "turn",
      name: "message",
      finished_at: at(start + 4),
      input: "Do it",
    }),
    span({
      ...own,
      id: step,
      kind: "step",
      parent_id: `turn-${number}`,
      finished_at: at(start + 1),
      usage: used,
    }),
    span({
      ...own,
      id: `model-${number}-1`,
      kind: "model_call",
      parent_id: step,
      name: "demo",
      finished_at: at(start + 1),
      usage: used,
    }),
    span({
      ...own,
      id: `call-${number}`,
      kind: "tool_call",
      parent_id: step,
      name: "read_file",
      input: { path: "notes.md" },
      output: "Durable",
      started_at: at(start + 1),
      finished_at: outcome === null ? null : at(start + 3),
      outcome,
    }),
  ];
}
