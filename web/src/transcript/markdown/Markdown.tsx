// Text as markdown. Drawn from tokens, so that there is no HTML to sanitise: what looks like HTML is shown as the
// text it is, nothing is loaded from elsewhere, and a piece that is complete is never drawn again.

import { memo, useDeferredValue, useMemo, useState, useTransition } from "react";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { Blocks } from "./Blocks";
import { type Chunk, chunksOf, cutAt, definitionsOf } from "./chunks";
import { Definitions } from "./definitions";
import { tokensOf } from "./parse";
import "./markdown.css";

/** Characters that are drawn without a pause. */
const AT_ONCE = 6_000;
/** Characters that are shown at first, and with every "more". */
const AT_FIRST = 30_000;
const MORE = 100_000;

export const Markdown = memo(function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  // Typing comes first: what streams, and all but the beginning of what is long, is drawn when there is time.
  const whole = useDeferredValue(text, beginning(text));
  const [most, setMost] = useState(AT_FIRST);
  const [opening, open] = useTransition();
  const cut = cutAt(whole, most);
  const shown = cut === 0 ? whole : whole.slice(0, cut);
  const chunks = useMemo(() => chunksOf(shown), [shown]);
  const definitions = useDefinitionsIn(shown);
  return (
    <div className="markdown break-words">
      <Definitions value={definitions}>
        {chunks.map((chunk, index) => (
          <Piece
            // biome-ignore lint/suspicious/noArrayIndexKey: text only grows at its end
            key={index}
            chunk={chunk.text}
            plain={chunk.plain}
            complete={!live || index < chunks.length - 1}
          />
        ))}
      </Definitions>
      {cut > 0 && (
        <Button small busy={opening} className="mt-2" onClick={() => open(() => setMost(most + MORE))}>
          {texts.transcript.moreText(whole.length - cut)}
        </Button>
      )}
    </div>
  );
});

function beginning(text: string): string {
  const cut = cutAt(text, AT_ONCE);
  return cut === 0 ? text : text.slice(0, cut);
}

interface PieceProps {
  chunk: Chunk["text"];
  plain: boolean;
  complete: boolean;
}

const Piece = memo(function Piece({ chunk, plain, complete }: PieceProps) {
  const tokens = useMemo(() => (plain ? [] : tokensOf(chunk)), [chunk, plain]);
  if (plain) return <p className="whitespace-pre-wrap">{chunk}</p>;
  return <Blocks tokens={tokens} complete={complete} />;
});

/** The same object as long as they say the same: pieces look at it. */
function useDefinitionsIn(text: string): ReadonlyMap<string, string> {
  const found = definitionsOf(text);
  const known = JSON.stringify([...found]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `known` says all that is in `found`
  return useMemo(() => found, [known]);
}
