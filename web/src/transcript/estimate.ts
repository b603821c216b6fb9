// How high a row will about be, before it is drawn. Pure. The nearer the guess, the less is drawn that is not seen,
// and the less the bar moves while one scrolls.

import type { LivePart } from "@/feed/state";
import { type Block, blocksOf, foldedOf, type Row } from "./rows";

/** Characters in a line of the widest column, and the height of a line. */
const LINE = 88;
const LINE_PX = 25;
const CALL_PX = 28;
const GAP_PX = 12;
/** What is below every message: what can be done with it. */
const ACTIONS_PX = 32;
const PICTURE_PX = 160;
/** Longer texts are cut. */
const MOST_PX = 4000;

export function estimated(row: Row | undefined): number {
  if (row === undefined) return 0;
  const known = guesses.get(row);
  if (known !== undefined) return known;
  const guess = ACTIONS_PX + blocksOf(row).reduce((sum, block) => sum + ofBlock(block), 0);
  guesses.set(row, Math.min(guess, MOST_PX));
  return Math.min(guess, MOST_PX);
}

// All of them are asked for again whenever one is measured.
const guesses = new WeakMap<Row, number>();

function ofBlock(block: Block): number {
  if (block.kind === "part") return ofPart(block.line.part);
  const folded = foldedOf(block.lines);
  return GAP_PX + (block.lines.length - folded + (folded > 0 ? 1 : 0)) * CALL_PX;
}

function ofPart(part: LivePart): number {
  switch (part.type) {
    case "text":
      return GAP_PX + lines(part.text) * LINE_PX;
    case "file":
      return PICTURE_PX;
    default:
      return CALL_PX;
  }
}

function lines(text: string): number {
  let count = 0;
  for (const line of text.slice(0, LINE * 200).split("\n"))
    count += Math.max(1, Math.ceil(line.length / LINE));
  return count;
}
