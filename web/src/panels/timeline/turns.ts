// The turns of a chat in numbers, made of their spans. Pure.

import type { Span } from "@/api/schema";
import { cacheTotal, hitRate, spent } from "@/panels/trace/cache";
import { type Extent, grouped, isFailed } from "@/panels/trace/layout";

export interface TurnLine {
  turn: number;
  messageId: string | null;
  asked: string;
  kind: string;
  extent: Extent | null;
  active: boolean;
  outcome: string | null;
  failure: string | null;
  models: readonly string[];
  steps: number;
  tools: number;
  failedTools: number;
  agents: number;
  input: number;
  output: number;
  reasoning: number;
  /** Null: nothing was sent. */
  cachedPercent: number | null;
  costMicros: number;
  unpriced: boolean;
}

/** The newest first. */
export function turnLines(spans: readonly Span[]): TurnLine[] {
  return grouped(spans).map(group => {
    const { span: own, spans: inside } = group;
    const count = (kind: Span["kind"]) => inside.filter(span => span.kind === kind).length;
    const usages = inside.flatMap(span => spent(span) ?? []);
    const sum = (of: (usage: (typeof usages)[number]) => number) =>
      usages.reduce((total, usage) => total + of(usage), 0);
    const share = cacheTotal(inside);
    return {
      turn: group.turn,
      messageId: own?.message_id ?? null,
      asked: typeof own?.input === "string" ? own.input : "",
      kind: own?.name ?? "",
      extent: group.extent,
      active: own !== null && own.finished_at === null,
      outcome: own?.outcome ?? null,
      failure: own?.failure?.message ?? null,
      models: [...new Set(inside.filter(span => span.kind === "model_call").map(span => span.name))],
      steps: count("step") + count("compaction"),
      tools: count("tool_call"),
      failedTools: inside.filter(span => span.kind === "tool_call" && isFailed(span)).length,
      agents: count("agent"),
      input: sum(usage => usage.input),
      output: sum(usage => usage.output),
      reasoning: sum(usage => usage.reasoning),
      cachedPercent: share === null ? null : Math.round(hitRate(share) * 100),
      costMicros: sum(usage => usage.cost_usd_micros),
      unpriced: sum(usage => usage.unpriced_steps) > 0,
    };
  });
}
