// What was used, as bars: a day each, also those without anything; and the largest first of models and chats.
// Pure.

import type { Usage, UsageLine } from "@/api/schema";

export type Measure = "tokens" | "money";

export function amountOf(usage: Usage, measure: Measure): number {
  return measure === "tokens" ? usage.total : usage.cost_usd_micros;
}

export interface DayBar {
  /** As 2026-11-16. */
  day: string;
  amount: number;
  steps: number;
  /** Of the highest one. */
  share: number;
}

const DAY_MS = 24 * 3600 * 1000;

/** The last `days` days up to `today`, which is one in UTC as the server counts them. */
export function dayBars(lines: readonly UsageLine[], measure: Measure, days: number, today: Date): DayBar[] {
  const known = new Map(lines.map(line => [line.key, line]));
  const bars = Array.from({ length: days }, (_, index) => {
    const day = new Date(today.getTime() - (days - 1 - index) * DAY_MS).toISOString().slice(0, 10);
    const line = known.get(day);
    return { day, amount: line ? amountOf(line.usage, measure) : 0, steps: line?.steps ?? 0, share: 0 };
  });
  const most = Math.max(0, ...bars.map(bar => bar.amount));
  return most === 0 ? bars : bars.map(bar => ({ ...bar, share: bar.amount / most }));
}

export interface Ranked {
  key: string;
  usage: Usage;
  amount: number;
  share: number;
}

/** The largest ones; those that used nothing are left out. */
export function ranked(lines: readonly UsageLine[], measure: Measure, most: number): Ranked[] {
  const found = lines
    .map(line => ({ key: line.key, usage: line.usage, amount: amountOf(line.usage, measure) }))
    .filter(line => line.amount > 0)
    .sort((one, other) => other.amount - one.amount)
    .slice(0, most);
  const first = found[0]?.amount ?? 1;
  return found.map(line => ({ ...line, share: line.amount / first }));
}

export function cachedPercent(usage: Usage): number | null {
  return usage.input === 0 ? null : Math.round((usage.cache_read / usage.input) * 100);
}
