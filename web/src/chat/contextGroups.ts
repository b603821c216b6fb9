// What fills a context, by kind in the order of the request: the largest pieces of each. Pure.

import type { ContextSegment } from "@/api/schema";

export interface ContextGroup {
  kind: ContextSegment["kind"];
  tokens: number;
  /** The largest, and those that something is wrong with. */
  listed: readonly (ContextSegment & { key: number })[];
  /** Pieces that are not listed. */
  more: number;
}

const LISTED = 6;

export function grouped(segments: readonly ContextSegment[]): ContextGroup[] {
  const kinds = [...new Set(segments.map(segment => segment.kind))];
  return kinds.map(kind => {
    const own = segments
      .map((segment, key) => ({ ...segment, key }))
      .filter(segment => segment.kind === kind)
      .sort((one, other) => other.tokens - one.tokens);
    const listed = own.filter((one, at) => at < LISTED || one.error !== null || one.drift !== null);
    return {
      kind,
      tokens: own.reduce((sum, one) => sum + one.tokens, 0),
      listed,
      more: own.length - listed.length,
    };
  });
}
