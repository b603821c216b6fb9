// A line in which a search found its words, with these marked.

import { Fragment } from "react";
import { foundPieces } from "./found";

export function FoundLine({ line, query }: { line: string; query: string }) {
  return foundPieces(line, query).map((piece, index) =>
    piece.found ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text never move
      <mark key={index} className="rounded-sm bg-warn-soft px-0.5 font-medium text-text">
        {piece.text}
      </mark>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text never move
      <Fragment key={index}>{piece.text}</Fragment>
    ),
  );
}
