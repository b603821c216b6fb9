// A chat as the page knows it. Everything here is immutable and shared: what did not change is the same object
// as before, so that only what changed is drawn again.

import type { Chat, DebugRun, Message, PartData, QueueItem, Span, ToolResult, Usage } from "@/api/schema";
import type { Collision } from "./events";

export type LivePart = PartData["part"];
export type Part = Message["parts"][number];

/** The live parts of one episode: text that is not committed yet. */
export interface Preview {
  historyVersion: number;
  attempt: number;
  /** The number of the last part that is in it. */
  n: number;
  role: Message["role"];
  parts: readonly LivePart[];
}

export interface ChatState {
  chat: Chat | null;
  /** Ascending. Without holes but where `gaps` says so. */
  messages: readonly Message[];
  /** Messages in front of which there is history that was not loaded. */
  gaps: ReadonlySet<string>;
  preview: Preview | null;
  /** Under which key a message was shown while it was a preview: see `keyOf`. */
  keys: ReadonlyMap<string, string>;
  /** The results in history, by call. */
  results: ReadonlyMap<string, ToolResult>;
  queue: readonly QueueItem[];
  spans: ReadonlyMap<string, Span>;
  /** As it is now, with the step under way. */
  usage: Usage | null;
  collisions: readonly Collision[];
  /** Moves on whenever the server tells of changed files. */
  changes: number;
  /** Those that moved while the feed was open, and the newest before. */
  debugRuns: ReadonlyMap<string, DebugRun>;
  /** Everything that was there when the feed was opened has been told. */
  caughtUp: boolean;
}

export const EMPTY: ChatState = {
  chat: null,
  messages: [],
  gaps: new Set(),
  preview: null,
  keys: new Map(),
  results: new Map(),
  queue: [],
  spans: new Map(),
  usage: null,
  collisions: [],
  changes: 0,
  debugRuns: new Map(),
  caughtUp: false,
};

export function previewKey(preview: Pick<Preview, "historyVersion" | "attempt">): string {
  return `live-${preview.historyVersion}-${preview.attempt}`;
}

/** The key of a message's row: that of the preview it replaced, so that nothing is drawn anew. */
export function keyOf(state: Pick<ChatState, "keys">, message: Message): string {
  return state.keys.get(message.id) ?? message.id;
}

export function isWorking(chat: Chat | null): boolean {
  return chat !== null && (chat.status === "running" || chat.status === "interrupting");
}

/** A person is asked something, by the chat itself or by a sub-agent of it. */
export function needsYou(chat: Chat): boolean {
  return chat.status === "requires_action" || (chat.action?.calls.length ?? 0) > 0;
}
