// Coloured code within a line.

import clsx from "clsx";
import { Marked } from "@/text/Marked";
import type { Piece } from "@/transcript/markdown/highlight";

/** `mark`: the look of pieces that are marked. */
export function Pieces({
  pieces,
  mark,
}: {
  pieces: readonly (Piece & { marked?: boolean })[];
  mark?: string;
}) {
  return pieces.map(({ text, kind, marked = false }, index) =>
    kind === null && !marked ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one line never move
      <Marked key={index} text={text} />
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one line never move
      <span key={index} className={clsx(kind, marked && ["rounded-sm text-text!", mark])}>
        <Marked text={text} />
      </span>
    ),
  );
}
