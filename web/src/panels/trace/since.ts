// What changed in a request since the step before, as far as the history tells: which messages came to it, how
// much longer it was, whether the model or the history itself is another; and why the cache did not help. Pure.

import type { Message, Span } from "@/api/schema";
import { cacheOf, hitRate } from "./cache";

export interface Since {
  /** The model call before; null: this is the first one. */
  before: Span | null;
  added: readonly Added[];
  /** Messages between the two that are not loaded. */
  unknown: boolean;
  tokens: number | null;
  model: { from: string; to: string } | null;
  compacted: boolean;
  /** Between the end of the one and the start of the other. */
  idleMs: number | null;
}

export interface Added {
  id: string;
  role: Message["role"];
  /** What a person would call it: a text's beginning, the tools whose results it has. */
  text: string;
}

const SHOWN = 120;

export function since(span: Span, spans: Iterable<Span>, messages: readonly Message[]): Since {
  const calls = [...spans].filter(one => one.kind === "model_call" || one.kind === "compaction");
  calls.sort((one, other) => ((one.started_at ?? "~") < (other.started_at ?? "~") ? -1 : 1));
  const at = calls.findIndex(one => one.id === span.id);
  const earlier = calls.slice(0, Math.max(0, at));
  const before = earlier.findLast(one => one.kind === "model_call") ?? null;
  const compacted = before !== null && earlier.slice(earlier.indexOf(before)).some(isCompaction);
  if (before === null) return { ...NOTHING, added: [], before };
  const between = sentBetween(before, span, messages);
  return {
    before,
    added: between.map(addedOf),
    unknown: before.message_id !== null && !messages.some(one => one.id === before.message_id),
    tokens: span.usage === null || before.usage === null ? null : span.usage.input - before.usage.input,
    model: before.name === span.name ? null : { from: before.name, to: span.name },
    compacted,
    idleMs:
      before.finished_at === null || span.started_at === null
        ? null
        : Date.parse(span.started_at) - Date.parse(before.finished_at),
  };
}

const NOTHING = { unknown: false, tokens: null, model: null, compacted: false, idleMs: null };

const isCompaction = (span: Span) => span.kind === "compaction";

/** The answer of the one before is in the request now, and what followed it until this one's answer. */
function sentBetween(before: Span, span: Span, messages: readonly Message[]): Message[] {
  const from = before.message_id;
  if (from === null) return [];
  return messages.filter(
    message =>
      message.id >= from &&
      message.visibility !== "user" &&
      (span.message_id === null
        ? message.created_at <= (span.started_at ?? "~")
        : message.id < span.message_id),
  );
}

function addedOf(message: Message): Added {
  const pieces = message.parts.flatMap(part => {
    switch (part.type) {
      case "text":
      case "notice":
        return [part.text];
      case "tool_call":
        return [`${part.name}(…)`];
      case "tool_result":
        return [`${part.name}: ${part.outcome}`];
      case "file":
        return [part.name];
      default:
        return [];
    }
  });
  const text = pieces.join(", ").replace(/\s+/g, " ");
  return {
    id: message.id,
    role: message.role,
    text: text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text,
  };
}

/** Why little was read from the cache; null: much was, or nobody knows. */
export type Miss = "first" | "model" | "compacted" | "idle";

// Providers forget a prefix that was not used for about so long.
const FORGOTTEN_MS = 5 * 60_000;
const LITTLE = 0.3;

export function missOf(span: Span, changed: Since): Miss | null {
  const share = cacheOf(span.usage);
  if (share === null || hitRate(share) >= LITTLE) return null;
  if (changed.before === null) return "first";
  if (changed.model !== null) return "model";
  if (changed.compacted) return "compacted";
  if (changed.idleMs !== null && changed.idleMs > FORGOTTEN_MS) return "idle";
  return null;
}
