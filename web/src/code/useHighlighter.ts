// The highlighter, once it is loaded: it is large, and code reads as well without colours.

import { useEffect, useState } from "react";
import type { Piece } from "@/transcript/markdown/highlight";

export type Highlight = (code: string, language: string) => Piece[] | null;

let loaded: Highlight | null = null;

export function useHighlighter(): Highlight | null {
  const [ready, setReady] = useState<Highlight | null>(() => loaded);
  useEffect(() => {
    if (loaded !== null) return;
    let wanted = true;
    void import("@/transcript/markdown/highlight").then(
      ({ highlight }) => {
        loaded = highlight;
        if (wanted) setReady(() => highlight);
      },
      // Plain text stays.
      () => undefined,
    );
    return () => {
      wanted = false;
    };
  }, []);
  return ready;
}
