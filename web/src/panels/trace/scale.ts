// Which part of a turn's time is shown, and where a span stands in it. Everything is a share of the turn, so
// that one zoom holds for turns of any length. Pure.

import type { Extent, Group } from "./layout";

/** From 0 to 1. */
export interface Shown {
  from: number;
  to: number;
}

export const ALL: Shown = { from: 0, to: 1 };
const NARROWEST = 1 / 512;

/** Wider or narrower around a place in what is shown (0: its left end). */
export function zoomed(shown: Shown, factor: number, at = 0.5): Shown {
  const width = shown.to - shown.from;
  const wanted = Math.min(1, Math.max(NARROWEST, width / factor));
  const from = shown.from + (width - wanted) * at;
  return within(from, wanted);
}

/** To the right, by a share of what is shown. */
export function moved(shown: Shown, by: number): Shown {
  const width = shown.to - shown.from;
  return within(shown.from + by * width, width);
}

function within(from: number, width: number): Shown {
  const start = Math.min(Math.max(0, from), 1 - width);
  return { from: start, to: start + width };
}

export function isAll(shown: Shown): boolean {
  return shown.to - shown.from > 1 - 1e-9;
}

/** Waiting for a person takes at most this share of the room: what was done stays in sight. */
const WAITING_SHARE = 0.25;

/** The time that is drawn of a turn. */
export function drawn(
  { extent, waitsSince }: Pick<Group, "extent" | "waitsSince">,
  now: number,
): Extent | null {
  if (extent === null || waitsSince === null) return extent;
  const worked = Math.max(1, waitsSince - extent.start);
  return {
    start: extent.start,
    end: Math.min(now, waitsSince + (worked * WAITING_SHARE) / (1 - WAITING_SHARE)),
  };
}

export interface Place {
  /** In percent of the room. */
  left: number;
  width: number;
}

/** Null: outside of what is shown. */
export function placed(extent: Extent, whole: Extent, shown: Shown, now: number): Place | null {
  const total = Math.max(1, (whole.end ?? now) - whole.start);
  const from = (extent.start - whole.start) / total;
  const to = ((extent.end ?? now) - whole.start) / total;
  if (to < shown.from || from > shown.to) return null;
  const width = shown.to - shown.from;
  const left = Math.max(0, (from - shown.from) / width);
  const right = Math.min(1, (to - shown.from) / width);
  return { left: left * 100, width: Math.max(0, right - left) * 100 };
}

export interface Tick {
  /** In percent of the room. */
  left: number;
  milliseconds: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Past a second time is told in sixties: steps that are round there, then hours. */
const ROUND_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map(count => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map(count => count * MINUTE),
];

/** At most `most` round moments since the turn began, within what is shown. */
export function ticks(lastedMs: number, shown: Shown, most: number): Tick[] {
  const width = (shown.to - shown.from) * lastedMs;
  if (width <= 0 || most < 1) return [];
  const step = roundStep(width / most);
  const found: Tick[] = [];
  for (let at = Math.ceil((shown.from * lastedMs) / step) * step; at < shown.to * lastedMs; at += step) {
    found.push({ left: ((at / lastedMs - shown.from) / (shown.to - shown.from)) * 100, milliseconds: at });
  }
  return found;
}

function roundStep(least: number): number {
  if (least > SECOND / 2) {
    const found = ROUND_STEPS.find(step => step >= least);
    return found ?? 60 * MINUTE * decimalStep(least / (60 * MINUTE));
  }
  return decimalStep(least);
}

function decimalStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find(one => one * power >= least) ?? 10) * power;
}
