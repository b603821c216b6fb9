// One line of a diff, alone or beside its counterpart. What differs within the line is marked.

import clsx from "clsx";
import { memo, type ReactNode } from "react";
import { Pieces } from "@/code/Pieces";
import { markedIn } from "@/code/pieces";
import { texts } from "@/texts";
import type { Piece } from "@/transcript/markdown/highlight";
import { differing, type Line, type Pair } from "./parse";

const t = texts.panels.changes;

const GROUND = { same: "", added: "bg-good-soft", removed: "bg-bad-soft" };
const MARK = { same: "", added: "bg-good/25", removed: "bg-bad/25" };
const SIGN = { same: " ", added: "+", removed: "−" };

/** The colours of a line; null: it stays plain. */
export type ColoursOf = (line: Line) => readonly Piece[] | null;

interface LineProps {
  colours: ColoursOf;
  line: Line;
  other: Line | null;
  chosen: boolean;
  onComment: (extend: boolean) => void;
}

export const LineRow = memo(function LineRow({ colours, line, other, chosen, onComment }: LineProps) {
  return (
    <div className={clsx("flex font-mono text-xs leading-6", GROUND[line.kind])}>
      <LineNumber number={line.new ?? line.old} chosen={chosen} onComment={onComment} />
      <Text line={line} other={other} pieces={colours(line)} />
    </div>
  );
});

interface PairProps {
  colours: ColoursOf;
  pair: Pair;
  chosen: readonly Line[];
  onComment: (line: Line, extend: boolean) => void;
}

export const PairRow = memo(function PairRow({ colours, pair, chosen, onComment }: PairProps) {
  const half = (line: Line | null, other: Line | null, number: number | null): ReactNode =>
    line === null ? (
      <div className="min-w-0 flex-1 bg-sunken" />
    ) : (
      <div className={clsx("flex min-w-0 flex-1", GROUND[line.kind])}>
        <LineNumber
          number={number}
          chosen={chosen.includes(line)}
          onComment={extend => onComment(line, extend)}
        />
        <Text line={line} other={other} pieces={colours(line)} />
      </div>
    );
  return (
    <div className="flex divide-x divide-line font-mono text-xs leading-6">
      {half(pair.left, pair.right, pair.left?.old ?? null)}
      {half(pair.right, pair.left, pair.right?.new ?? null)}
    </div>
  );
});

function LineNumber({
  number,
  chosen,
  onComment,
}: {
  number: number | null;
  chosen: boolean;
  onComment: (extend: boolean) => void;
}) {
  return (
    <button
      type="button"
      data-line=""
      aria-label={t.commentOn(number ?? 0)}
      aria-pressed={chosen}
      onClick={event => onComment(event.shiftKey)}
      className={clsx(
        "tabular flex w-11 shrink-0 select-none justify-end self-stretch pr-2 text-faint hover:bg-chosen hover:text-text",
        chosen && "bg-accent-soft text-accent-text",
      )}
    >
      {number}
    </button>
  );
}

function Text({ line, other, pieces }: { line: Line; other: Line | null; pieces: readonly Piece[] | null }) {
  const range = other === null || line.kind === "same" ? null : differing(line.text, other.text);
  return (
    <code className="min-w-0 flex-1 whitespace-pre-wrap pr-2 pl-4 [overflow-wrap:anywhere]">
      <span aria-hidden className="-ml-4 inline-block w-4 select-none text-faint">
        {SIGN[line.kind]}
      </span>
      {line.kind !== "same" && <span className="sr-only">{`${t.lineKinds[line.kind]}: `}</span>}
      <Pieces pieces={markedIn(pieces ?? [{ text: line.text, kind: null }], range)} mark={MARK[line.kind]} />
    </code>
  );
}
