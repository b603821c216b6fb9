// What of a request the provider had in its cache: how much, and why not more. Pure.

import type { Span, Usage } from "@/api/schema";

export interface CacheShare {
  /** Tokens. Together they are what was sent. */
  read: number;
  written: number;
  fresh: number;
  total: number;
}

/** A step and its model call report the same usage: it counts at the call. */
export function spent(span: Span): Usage | null {
  return span.kind === "model_call" || span.kind === "compaction" ? span.usage : null;
}

export function cacheOf(usage: Usage | null): CacheShare | null {
  if (usage === null || usage.input === 0) return null;
  const { input, cache_read: read, cache_write: written } = usage;
  return { read, written, fresh: Math.max(0, input - read - written), total: input };
}

/** When the cache of the newest request is forgotten, as far as its provider says; null: nobody knows. */
export function warmUntil(spans: Iterable<Span>): number | null {
  let newest: Span | null = null;
  for (const span of spans) {
    if (span.kind !== "model_call" || !span.finished_at || !span.cache) continue;
    if (newest === null || (newest.finished_at ?? "") < span.finished_at) newest = span;
  }
  const until = newest?.cache?.expires_at;
  return until ? Date.parse(until) : null;
}

/** As a clock: 4:32. */
export function countdown(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const minutes = Math.floor(seconds / 60);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  const ending = String(seconds % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(rest).padStart(2, "0")}:${ending}` : `${rest}:${ending}`;
}

export function cacheTotal(spans: Iterable<Span>): CacheShare | null {
  const sum: CacheShare = { read: 0, written: 0, fresh: 0, total: 0 };
  for (const span of spans) {
    const one = cacheOf(spent(span));
    if (one === null) continue;
    sum.read += one.read;
    sum.written += one.written;
    sum.fresh += one.fresh;
    sum.total += one.total;
  }
  return sum.total === 0 ? null : sum;
}

export function hitRate(share: CacheShare): number {
  return share.read / share.total;
}

export function cacheLook(share: CacheShare): "good" | "warn" | "bad" {
  const rate = hitRate(share);
  return rate >= 0.6 ? "good" : rate >= 0.3 ? "warn" : "bad";
}
