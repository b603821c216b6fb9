// What the request of a step has that the one before had not, and the other way round. Pure.

import type { DebugStep } from "@/api/schema";

export interface Piece {
  /** What it is: the system prompt, a message of a role, a setting. */
  label: string;
  text: string;
  /** All of it on one line, as one says it. */
  brief: string;
}

export interface RequestDiff {
  added: readonly Piece[];
  removed: readonly Piece[];
}

const BRIEF = 200;

interface Request {
  system?: { text: string }[];
  messages?: { role: string; parts: unknown }[];
}

export function piecesOf(step: Pick<DebugStep, "request">): Piece[] {
  if (typeof step.request !== "object" || step.request === null) return [];
  const { system = [], messages = [], ...settings } = step.request as Request & Record<string, unknown>;
  return [
    ...Object.entries(settings)
      .filter(([name]) => name !== "left_out")
      .map(([name, value]) => piece(name, value)),
    ...system.map(part => piece("system", part.text)),
    ...messages.map(message => piece(message.role, message.parts)),
  ];
}

export function requestDiff(
  before: Pick<DebugStep, "request">,
  after: Pick<DebugStep, "request">,
): RequestDiff {
  const [old, now] = [piecesOf(before), piecesOf(after)];
  return { added: without(now, old), removed: without(old, now) };
}

/** Each is taken away once: the same message may be there twice. */
function without(pieces: readonly Piece[], others: readonly Piece[]): Piece[] {
  const left = new Map<string, number>();
  for (const one of others) left.set(keyOf(one), (left.get(keyOf(one)) ?? 0) + 1);
  return pieces.filter(one => {
    const count = left.get(keyOf(one)) ?? 0;
    left.set(keyOf(one), count - 1);
    return count <= 0;
  });
}

const keyOf = (piece: Piece) => `${piece.label}\n${piece.text}`;

const piece = (label: string, value: unknown): Piece => ({
  label,
  text: shown(value),
  brief: briefOf(value).replace(/\s+/g, " ").slice(0, BRIEF),
});

interface Part {
  type?: string;
  text?: string;
  name?: string;
  input?: unknown;
  output?: unknown;
}

function briefOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return JSON.stringify(value);
  return value.map(one => (typeof one === "string" ? one : partBrief(one))).join(", ");
}

function partBrief(part: Part): string {
  if (typeof part.text === "string") return part.text;
  if (part.type === "tool_call") return `${part.name} ${JSON.stringify(part.input)}`;
  if (part.type === "tool_result") return briefOf(part.output);
  return JSON.stringify(part);
}

function shown(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.length === 1) {
    const [only] = value as { type?: string; text?: string }[];
    if (only?.type === "text" && typeof only.text === "string") return only.text;
  }
  return JSON.stringify(value, null, 2);
}
