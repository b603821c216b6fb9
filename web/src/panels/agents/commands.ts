// What a person can do with a sub-agent.

import { call, newKey } from "@/api/client";
import type { Chat } from "@/api/schema";
import { lastSaid } from "./progress";
import { isBusy } from "./state";

const path = (chat: Pick<Chat, "id">) => ({ path: { chat_id: chat.id } });

/** With all that it started itself. */
export async function stopAgent(agent: Chat): Promise<void> {
  if (isBusy(agent)) await call("POST /chats/{chat_id}/interrupt", path(agent));
  const children = await call("GET /chats", { query: { parent_id: agent.id, limit: 200 } });
  await Promise.all(children.items.filter(isBusy).map(stopAgent));
}

/** One that is done goes on with it; one that works reads it when it comes to a stop. */
export async function messageAgent(agent: Chat, text: string): Promise<void> {
  await call("POST /chats/{chat_id}/messages", { ...path(agent), body: { content: text }, once: newKey() });
}

export async function retryAgent(agent: Chat): Promise<void> {
  await call("POST /chats/{chat_id}/retry", path(agent));
}

// Greater than every id: what is in front of it are the newest messages.
const NEWEST = "ffffffff-ffff-7fff-bfff-ffffffffffff";
const LOOKED_AT = 20;

/** The last that the agent said, in full; empty: nothing yet. */
export async function lastAnswer(agentId: string, signal: AbortSignal): Promise<string> {
  const page = await call("GET /chats/{chat_id}/messages", {
    path: { chat_id: agentId },
    query: { before: NEWEST, limit: LOOKED_AT },
    signal,
  });
  return lastSaid(page.items);
}
