// A block of code: its language, a copy button, and colours once it is complete.

import { Check, Copy } from "lucide-react";
import { memo, useEffect, useState } from "react";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";
import { copy } from "../copy";
import type { Piece } from "./highlight";

const t = texts.transcript;

export const Code = memo(function Code({
  code,
  language,
  complete,
}: {
  code: string;
  language: string;
  /** More of it may come: colouring waits. */
  complete: boolean;
}) {
  const pieces = useHighlight(code, language, complete);
  return (
    <figure className="my-3 overflow-hidden rounded-lg border bg-sunken">
      <figcaption className="flex h-8 items-center justify-between border-b pr-1 pl-3 text-faint text-xs">
        <span>{language || t.code}</span>
        <CopyButton text={code} label={t.copyCode} />
      </figcaption>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="max-h-[32rem] overflow-auto px-3 py-2 font-mono text-sm leading-5"
      >
        <code>{pieces === null ? code : pieces.map(drawn)}</code>
      </pre>
    </figure>
  );
});

const drawn = ({ text, kind }: Piece, index: number) =>
  kind === null ? (
    text
  ) : (
    <span key={index} className={kind}>
      {text}
    </span>
  );

function useHighlight(code: string, language: string, complete: boolean): Piece[] | null {
  const [done, setDone] = useState<{ code: string; pieces: Piece[] | null } | null>(null);
  useEffect(() => {
    if (!complete || language === "") return;
    let wanted = true;
    void import("./highlight").then(
      ({ highlight }) => wanted && setDone({ code, pieces: highlight(code, language.toLowerCase()) }),
      // Without colours it reads as well.
      () => undefined,
    );
    return () => {
      wanted = false;
    };
  }, [code, language, complete]);
  return done?.code === code ? done.pieces : null;
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <IconButton
      small
      icon={copied ? Check : Copy}
      label={copied ? texts.common.copied : label}
      onClick={() => void copy(text).then(setCopied)}
    />
  );
}
