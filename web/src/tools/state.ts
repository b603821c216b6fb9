// How far a call is: from its result, its span and what the chat waits for. Pure.

import type { ActionCall, Approval, Chat, Span, ToolResult } from "@/api/schema";
import type { Call } from "@/transcript/rows";
import { fieldsOf, partial } from "./input";

export type Outcome = ToolResult["outcome"];

/** writing: its input streams.  pending: it has not begun.  running.  asking: somebody must answer. */
export type CallState = "writing" | "pending" | "running" | "asking" | Outcome;

export interface Known {
  result: ToolResult | undefined;
  span: Span | undefined;
  action: Chat["action"];
  status: Chat["status"] | undefined;
}

export interface CallView {
  id: string;
  name: string;
  input: unknown;
  state: CallState;
  ask: ActionCall | null;
  output: unknown;
  diff: string | null;
  /** There is more output than this. */
  truncated: boolean;
  startedAt: number | null;
  finishedAt: number | null;
  approval: Approval | null;
  byProvider: boolean;
}

export function viewOf(call: Call, { result, span, action, status }: Known): CallView {
  const ask = action?.calls.find(one => one.call_id === call.call_id) ?? null;
  const outcome = result?.outcome ?? (isOutcome(span?.outcome) ? span.outcome : null);
  return {
    id: call.call_id,
    name: call.name,
    input: call.type === "tool_call" ? call.input : partial(call.text),
    state: outcome ?? stateOf(call, ask, span, status),
    ask: outcome === null ? ask : null,
    output: result?.output ?? span?.output ?? null,
    diff: result?.diff ?? null,
    truncated: result?.truncated ?? span?.truncated ?? false,
    startedAt: time(result?.started_at ?? span?.started_at),
    finishedAt: time(result?.finished_at ?? span?.finished_at),
    approval: span?.approved_by ?? null,
    byProvider: call.type === "tool_call" && call.provider_executed,
  };
}

function stateOf(
  call: Call,
  ask: ActionCall | null,
  span: Span | undefined,
  status: Chat["status"] | undefined,
): CallState {
  if (call.type === "tool_call_delta") return "writing";
  if (ask !== null) return "asking";
  if (call.provider_executed) return "succeeded";
  if (span?.started_at) return "running";
  // A chat that rests runs nothing: the result is on its way, or was lost with its turn.
  return status === "idle" || status === "error" ? "cancelled" : "pending";
}

const OUTCOMES = new Set<string>(["succeeded", "failed", "denied", "cancelled", "expired", "uncertain"]);

function isOutcome(outcome: string | null | undefined): outcome is Outcome {
  return outcome != null && OUTCOMES.has(outcome);
}

const time = (at: string | null | undefined): number | null => (at ? Date.parse(at) : null);

export function isOver(state: CallState): state is Outcome {
  return OUTCOMES.has(state);
}

/** How long it took, or takes so far. */
export function elapsed(view: CallView, now: number): number | null {
  if (view.startedAt === null) return null;
  if (view.finishedAt !== null) return Math.max(0, view.finishedAt - view.startedAt);
  return view.state === "running" ? Math.max(0, now - view.startedAt) : null;
}

/** The exit code of a command that failed, which says more than "failed". */
export function exitCode(view: CallView): number | null {
  const code = fieldsOf(view.output).exit_code;
  return typeof code === "number" ? code : null;
}
