// Coloured code cut to lines, and to the parts of a line that are marked.

import type { Piece } from "@/transcript/markdown/highlight";

/** The pieces of each line. */
export function linesOf(pieces: readonly Piece[]): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const { text, kind } of pieces) {
    text.split("\n").forEach((part, index) => {
      if (index > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ text: part, kind });
    });
  }
  return lines;
}

export interface MarkedPiece extends Piece {
  marked: boolean;
}

/** The pieces cut where a range of characters begins and ends. */
export function markedIn(pieces: readonly Piece[], range: readonly [number, number] | null): MarkedPiece[] {
  if (range === null) return pieces.map(piece => ({ ...piece, marked: false }));
  const cut: MarkedPiece[] = [];
  let at = 0;
  for (const { text, kind } of pieces) {
    const [from, to] = range.map(edge => Math.min(text.length, Math.max(0, edge - at))) as [number, number];
    for (const [part, marked] of [
      [text.slice(0, from), false],
      [text.slice(from, to), true],
      [text.slice(to), false],
    ] as const) {
      if (part !== "") cut.push({ text: part, kind, marked });
    }
    at += text.length;
  }
  return cut;
}
