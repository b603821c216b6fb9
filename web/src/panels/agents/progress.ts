// What a sub-agent that works has said last and does now. Pure.

import type { Message } from "@/api/schema";
import type { ChatState, LivePart } from "@/feed/state";

export interface Progress {
  said: string;
  /** The tool that runs. */
  doing: string | null;
}

export function progressOf(state: ChatState): Progress {
  const streaming = spoken(state.preview?.parts ?? []);
  return { said: streaming || lastSaid(state.messages), doing: runningTool(state) };
}

/** The last that the agent said in full; empty: nothing yet. */
export function lastSaid(messages: readonly Message[]): string {
  const message = messages.findLast(one => one.role === "assistant" && spoken(one.parts) !== "");
  return message === undefined ? "" : spoken(message.parts);
}

function spoken(parts: readonly LivePart[]): string {
  return parts
    .flatMap(part => (part.type === "text" ? [part.text] : []))
    .join("\n")
    .trim();
}

function runningTool(state: ChatState): string | null {
  for (const span of state.spans.values()) {
    if (span.kind === "tool_call" && span.started_at !== null && span.finished_at === null) return span.name;
  }
  return null;
}
