// The one reducer of a chat: (state, event) -> state, pure. Replaying a recorded feed gives the same state as
// having watched it; committed text is never shown beside the preview that it replaces.

import type { Message, MessageData, PartData, ToolResult } from "@/api/schema";
import type { FeedEvent, HistoryPage } from "./events";
import { joined } from "./parts";
import { type ChatState, EMPTY, type Preview, previewKey } from "./state";

export function reduce(state: ChatState, event: FeedEvent): ChatState {
  switch (event.event) {
    case "chat":
      return { ...state, chat: event.data, usage: event.data.usage };
    case "message":
      return committed(state, event.data);
    case "part":
      return streamed(state, event.data);
    case "queue":
      return { ...state, queue: event.data.items };
    case "status":
      return inChat(state, event.data);
    case "retry":
      return inChat(state, { retry: event.data });
    case "failed":
      return inChat(state, { last_error: event.data });
    case "action_required":
      return inChat(state, { action: event.data });
    case "preview_reset":
      return state.preview === null ? state : { ...state, preview: null };
    case "history_reset":
      return { ...EMPTY, chat: state.chat, queue: state.queue, spans: state.spans, usage: state.usage };
    case "span":
      return { ...state, spans: new Map(state.spans).set(event.data.id, event.data) };
    case "usage":
      return { ...state, usage: event.data };
    case "collision": {
      const others = state.collisions.filter(one => one.path !== event.data.path);
      return { ...state, collisions: [...others, event.data] };
    }
    case "changes":
      return { ...state, changes: state.changes + 1 };
    case "debug": {
      const { debug_run: run } = event.data;
      return { ...state, debugRuns: new Map(state.debugRuns).set(run.id, run) };
    }
    case "caught_up":
      return state.caughtUp ? state : { ...state, caughtUp: true };
    case "closing":
      return state;
  }
}

export function reduceAll(state: ChatState, events: Iterable<FeedEvent>): ChatState {
  for (const event of events) state = reduce(state, event);
  return state;
}

function inChat(state: ChatState, change: Partial<NonNullable<ChatState["chat"]>>): ChatState {
  return state.chat === null ? state : { ...state, chat: { ...state.chat, ...change } };
}

// --- live parts ---

function streamed(state: ChatState, data: PartData): ChatState {
  const first = data.first ?? data.n;
  const known = state.preview;
  const goesOn = known?.historyVersion === data.history_version && known.attempt === data.attempt;
  if (goesOn ? first !== known.n + 1 : first !== 1) return state;
  const preview: Preview = {
    historyVersion: data.history_version,
    attempt: data.attempt,
    n: data.n,
    role: data.role,
    parts: joined(goesOn ? known.parts : [], data.part),
  };
  return { ...state, preview };
}

// --- committed messages ---

function committed(state: ChatState, { message, replaces }: MessageData): ChatState {
  const preview = state.preview;
  const replaced =
    preview !== null &&
    replaces?.history_version === preview.historyVersion &&
    replaces.attempt === preview.attempt;
  return {
    ...state,
    messages: inserted(state.messages, [message]),
    results: withResults(state.results, [message]),
    preview: replaced ? null : preview,
    keys: replaced ? new Map(state.keys).set(message.id, previewKey(preview)) : state.keys,
  };
}

/** Both are ascending by id. A message that is known stays the same object unless it was written again. */
export function inserted(known: readonly Message[], fresh: readonly Message[]): readonly Message[] {
  const last = known.at(-1);
  const first = fresh[0];
  if (first === undefined) return known;
  if (last === undefined || last.id < first.id) return [...known, ...fresh];
  const all = new Map(known.map(message => [message.id, message]));
  for (const message of fresh) {
    const old = all.get(message.id);
    if (old === undefined || old.revision < message.revision) all.set(message.id, message);
  }
  return [...all.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
}

function withResults(
  known: ReadonlyMap<string, ToolResult>,
  messages: readonly Message[],
): ReadonlyMap<string, ToolResult> {
  const found = messages.flatMap(message => message.parts.filter(part => part.type === "tool_result"));
  if (found.length === 0) return known;
  const all = new Map(known);
  for (const result of found) all.set(result.call_id, result);
  return all;
}

// --- older history ---

/** The newest messages are here, and there may be others in front of them. */
export function withGapInFront(state: ChatState): ChatState {
  const first = state.messages[0];
  return first === undefined ? state : { ...state, gaps: new Set(state.gaps).add(first.id) };
}

/** A page that ends directly in front of `before`. What it reaches closes the gap. */
export function withOlder(state: ChatState, before: string, page: HistoryPage): ChatState {
  const gaps = new Set(state.gaps);
  gaps.delete(before);
  const first = page.items[0];
  const reaches = first !== undefined && state.messages.some(message => message.id === first.id);
  if (page.more && first !== undefined && !reaches) gaps.add(first.id);
  // Gaps inside of what was loaded now are none any more.
  for (const message of page.items) if (message.id !== first?.id) gaps.delete(message.id);
  return loaded(state, page.items, gaps);
}

/** A page somewhere in history, from which it may go on in both directions. */
export function withIsland(state: ChatState, page: HistoryPage): ChatState {
  const [first, last] = [page.items[0], page.items.at(-1)];
  if (first === undefined || last === undefined) return state;
  const known = new Set(state.messages.map(message => message.id));
  const gaps = new Set(state.gaps);
  for (const message of page.items) if (message.id !== first.id) gaps.delete(message.id);
  if (page.more && !known.has(first.id)) gaps.add(first.id);
  const next = state.messages.find(message => message.id > last.id);
  if (next !== undefined && !known.has(last.id)) gaps.add(next.id);
  return loaded(state, page.items, gaps);
}

function loaded(state: ChatState, items: readonly Message[], gaps: ReadonlySet<string>): ChatState {
  return {
    ...state,
    messages: inserted(state.messages, items),
    results: withResults(state.results, items),
    gaps,
  };
}

/** A history that was read anew, with the objects of the old one where they say the same. */
export function adopting(old: ChatState, fresh: ChatState): ChatState {
  const known = new Map(old.messages.map(message => [message.id, message]));
  const messages = fresh.messages.map(message => {
    const before = known.get(message.id);
    return before !== undefined && before.revision === message.revision ? before : message;
  });
  return { ...fresh, messages, keys: new Map([...old.keys, ...fresh.keys]) };
}
