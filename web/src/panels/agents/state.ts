// What a sub-agent is doing, in a word. Pure.

import type { Chat } from "@/api/schema";

export type AgentState = "working" | "waiting" | "needs_you" | "done" | "stopped" | "failed";

export function stateOf(chat: Chat): AgentState {
  switch (chat.status) {
    case "error":
      return "failed";
    case "requires_action":
      return "needs_you";
    case "running":
    case "interrupting":
      return chat.waiting === null ? "working" : "waiting";
    case "idle":
      return chat.waiting === null ? endOf(chat) : "waiting";
  }
}

function endOf(chat: Chat): AgentState {
  switch (chat.last_turn?.outcome) {
    case "interrupted":
      return "stopped";
    case "failed":
      return "failed";
    default:
      return "done";
  }
}

export function isBusy(chat: Chat): boolean {
  return chat.status !== "idle" && chat.status !== "error";
}

/** How long it has been at it; of one that ended, until its end. */
export function workedMs(chat: Chat, now: number): number {
  const end = isBusy(chat) ? now : Date.parse(chat.updated_at);
  return Math.max(0, end - Date.parse(chat.created_at));
}

/** Those that do something first, then in the order in which they were started. */
export function inOrder(chats: readonly Chat[]): Chat[] {
  return [...chats].sort(
    (one, other) =>
      Number(isBusy(other)) - Number(isBusy(one)) || (one.created_at < other.created_at ? -1 : 1),
  );
}
