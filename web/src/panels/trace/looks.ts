// Icons and colours of spans.

import {
  Bot,
  Brain,
  CircleCheck,
  CornerDownRight,
  type LucideIcon,
  MessageSquare,
  Shrink,
  Tag,
  Webhook,
  Wrench,
} from "lucide-react";
import type { Span } from "@/api/schema";
import { isFailed } from "./layout";

export const ICONS: Record<Span["kind"], LucideIcon> = {
  turn: MessageSquare,
  step: CornerDownRight,
  model_call: Brain,
  tool_call: Wrench,
  agent: Bot,
  compaction: Shrink,
  check: CircleCheck,
  hook: Webhook,
  title: Tag,
  summary: Tag,
};

const BARS: Record<Span["kind"], string> = {
  turn: "bg-line-strong",
  step: "bg-line-strong/35",
  model_call: "bg-accent",
  tool_call: "bg-good",
  agent: "bg-soft",
  compaction: "bg-line-strong",
  check: "bg-good",
  hook: "bg-soft",
  title: "bg-line-strong",
  summary: "bg-line-strong",
};

export function barOf(span: Span, waits: boolean): string {
  if (waits && span.kind !== "step") return "border border-warn border-dashed bg-warn-soft";
  if (isFailed(span) && span.kind !== "step") return "bg-bad";
  return span.finished_at === null ? `${BARS[span.kind]} animate-pulse` : BARS[span.kind];
}

export const TEXT = { good: "text-good", soft: "text-soft", warn: "text-warn", bad: "text-bad" };
export const FILL = { good: "bg-good", warn: "bg-warn", bad: "bg-bad" };
