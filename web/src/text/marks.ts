// Text as `visible` spells it out, in pieces: what stands for a character that hides or turns text is apart,
// so that it can be coloured. Pure.

import { visible } from "./visible";

export interface Piece {
  text: string;
  marked: boolean;
}

const MARK = /⟨U\+[0-9A-F]{4,6}⟩/g;

export function markedPieces(text: string): Piece[] {
  const spelled = markedText(text);
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of spelled.matchAll(MARK)) {
    if (found.index > from) pieces.push({ text: spelled.slice(from, found.index), marked: false });
    pieces.push({ text: found[0], marked: true });
    from = found.index + found[0].length;
  }
  if (from < spelled.length) pieces.push({ text: spelled.slice(from), marked: false });
  return pieces;
}

/** The same on one string, for titles and labels. */
export const markedText = (text: string): string => visible(text, true);
