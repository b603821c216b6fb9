// What became of the segments of a request: those that stand for each other are paired. Pure.

import type { ChangedSegment } from "@/api/schema";

export interface Change {
  before: ChangedSegment | null;
  after: ChangedSegment | null;
}

/** A segment stands for a dropped one of the same kind and name. Only messages are never the same ones: each of
 *  them came or went. */
export function changesOf(dropped: readonly ChangedSegment[], added: readonly ChangedSegment[]): Change[] {
  const left = [...added];
  const changes = dropped.map(before => {
    const at = before.kind === "message" ? -1 : left.findIndex(after => standsFor(after, before));
    return { before, after: at < 0 ? null : (left.splice(at, 1)[0] ?? null) };
  });
  return [...changes, ...left.map(after => ({ before: null, after }))];
}

function standsFor(after: ChangedSegment, before: ChangedSegment): boolean {
  return after.kind === before.kind && nameOf(after) === nameOf(before);
}

/** Groups of tools are named with how many they are. */
function nameOf(segment: ChangedSegment): string {
  return segment.kind === "tools" ? segment.label.replace(/ \(\d+\)$/, "") : segment.label;
}

/** What a list says of it: of a message who said it, and how it begins. */
export function headOf(segment: ChangedSegment): string {
  if (segment.kind !== "message" || segment.text === null) return segment.label;
  const [role] = segment.label.split(":", 1);
  const first = segment.text.split("\n", 1)[0] ?? "";
  return first === "" ? segment.label : `${role}: ${first.slice(0, 200)}`;
}
