// Which of the changed files others have changed too, the worst first. Pure.

import type { Collision } from "@/feed/events";

export type Severity = Collision["severity"];

const WORST_FIRST: readonly string[] = ["same_lines", "near_lines", "same_file"];

export function byPath(collisions: readonly Collision[]): ReadonlyMap<string, Collision> {
  return new Map(collisions.map(one => [one.path.replace(/^\.\//, ""), one]));
}

export function worstFirst(collisions: readonly Collision[]): Collision[] {
  const rank = (one: Collision) => {
    const at = WORST_FIRST.indexOf(one.severity);
    return at < 0 ? WORST_FIRST.length : at;
  };
  return [...collisions].sort((one, other) => rank(one) - rank(other) || (one.path < other.path ? -1 : 1));
}

export function lookOf(severity: string): "bad" | "warn" | "quiet" {
  return severity === "same_lines" ? "bad" : severity === "near_lines" ? "warn" : "quiet";
}
