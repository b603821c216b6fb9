// Text of models and tools as a person must see it before deciding: characters that turn, hide or fake text are
// marked as what they are. The one place that says how; everything that shows such text goes through it.

import { Fragment } from "react";
import { texts } from "@/texts";
import { markedPieces } from "./marks";

export function Marked({ text }: { text: string }) {
  return markedPieces(text).map((piece, index) =>
    piece.marked ? (
      <mark
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text never move
        key={index}
        title={texts.tools.ask.hiddenCharacter}
        className="rounded-sm bg-bad-soft px-0.5 text-bad"
      >
        {piece.text}
      </mark>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text never move
      <Fragment key={index}>{piece.text}</Fragment>
    ),
  );
}
