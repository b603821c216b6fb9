// What happens at this moment, in words. Pure: the moment is passed in.

import type { OpenChat } from "@/feed/chats";
import { needsYou } from "@/feed/state";
import { texts } from "@/texts";

const t = texts.transcript.live;

export type Live =
  | { kind: "rest" }
  | { kind: "working" | "waiting" | "stopping" | "reconnecting" | "retrying"; text: string };

export function liveOf(state: OpenChat, now: number): Live {
  const { chat, preview, link } = state;
  if (link === "reconnecting") return { kind: "reconnecting", text: t.reconnecting };
  if (chat === null) return { kind: "rest" };
  if (chat.status === "interrupting") return { kind: "stopping", text: t.stopping };
  // A sub-agent may ask while its parent goes on.
  if (chat.status === "requires_action" || (needsYou(chat) && preview === null))
    return { kind: "waiting", text: t.needsYou(waitsFor(state)) };
  if (chat.status === "idle" && chat.waiting === "held") return { kind: "waiting", text: t.held };
  if (chat.status !== "running") return { kind: "rest" };
  if (chat.waiting === "capacity") return { kind: "waiting", text: t.capacity };
  if (chat.retry !== null && preview === null) {
    const seconds = Math.max(0, Math.ceil((Date.parse(chat.retry.next_at) - now) / 1000));
    const text =
      seconds > 0
        ? t.retrying(seconds, chat.retry.message, chat.retry.attempt)
        : t.connectingAgain(chat.retry.attempt + 1);
    return { kind: "retrying", text };
  }
  return { kind: "working", text: doing(state) };
}

function doing(state: OpenChat): string {
  const { chat, preview } = state;
  const last = preview?.parts.at(-1);
  switch (last?.type) {
    case "reasoning":
      return t.thinking;
    case "text":
      return t.writing;
    case "tool_call_delta":
    case "tool_call":
      return last.name === "chat_summarized" ? t.summarising : t.calling(last.name);
  }
  const running = openCalls(state);
  if (chat?.waiting === "children") return t.children;
  if (running.length === 1) return t.running(running[0] ?? "");
  if (running.length > 1) return t.runningMany(running.length);
  return t.connecting(chat?.model ?? null);
}

/** The names of calls in the newest message that have no result yet. */
function openCalls({ messages, results }: OpenChat): string[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return [];
  return last.parts.flatMap(part =>
    part.type === "tool_call" && !part.provider_executed && !results.has(part.call_id) ? [part.name] : [],
  );
}

function waitsFor({
  chat,
}: OpenChat): "approval" | "question" | "plan" | "uncertain" | "client_tool" | "several" {
  const kinds = new Set(chat?.action?.calls.map(call => call.kind));
  const [only] = kinds;
  return kinds.size === 1 && only !== undefined ? only : "several";
}
