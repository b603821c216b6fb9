// A unified diff with colours. Long ones are cut until more is asked for.

import clsx from "clsx";
import { useMemo, useState } from "react";
import { coloursOf } from "@/code/diffColours";
import { Pieces } from "@/code/Pieces";
import { useHighlighter } from "@/code/useHighlighter";
import { type DiffFile, type Line as DiffLine, parseDiff } from "@/panels/changes/parse";
import { Marked } from "@/text/Marked";
import { texts } from "@/texts";
import type { Piece } from "@/transcript/markdown/highlight";
import { Button } from "@/ui/Button";
import { PathLink } from "./PathLink";

const AT_FIRST = 200;
/** What the server says of what it left out. */
const LEFT_OUT = /^\[\d+ more hunks? left out\]$/m;

export function Diff({ diff }: { diff: string }) {
  const files = useMemo(() => parseDiff(diff), [diff]);
  const note = LEFT_OUT.exec(diff)?.[0];
  return (
    <div className="flex flex-col gap-2">
      {files.map((file, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a path may be there twice
        <OneFile key={index} file={file} />
      ))}
      {note !== undefined && <p className="text-faint text-xs">{note}</p>}
    </div>
  );
}

/** A line of the file, or null where lines are left out. */
function linesOf(file: DiffFile): (DiffLine | null)[] {
  return file.hunks.flatMap((hunk, index) => (index === 0 ? [...hunk.lines] : [null, ...hunk.lines]));
}

function OneFile({ file }: { file: DiffFile }) {
  const [all, setAll] = useState(false);
  const lines = linesOf(file);
  const shown = all ? lines : lines.slice(0, AT_FIRST);
  const highlight = useHighlighter();
  return (
    <div className="overflow-hidden rounded-md border bg-canvas">
      <div className="flex items-center gap-2 border-b bg-sunken px-2 py-1 text-xs">
        <PathLink path={file.path} className="min-w-0 font-mono" />
        {file.added > 0 && <span className="tabular shrink-0 text-good">+{file.added}</span>}
        {file.removed > 0 && <span className="tabular shrink-0 text-bad">−{file.removed}</span>}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div tabIndex={0} className="max-h-96 overflow-auto py-1 font-mono text-xs leading-5">
        <div className="w-max min-w-full">
          {shown.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
            <Line key={index} line={line} pieces={line && coloursOf(file, line, highlight)} />
          ))}
        </div>
        {lines.length > shown.length && (
          <Button small className="m-2" onClick={() => setAll(true)}>
            {texts.tools.moreLines(lines.length - shown.length)}
          </Button>
        )}
      </div>
    </div>
  );
}

const LOOK = { added: "bg-good-soft", removed: "bg-bad-soft", same: "" };
const SIGN = { added: "+", removed: "-", same: " " };

function Line({ line, pieces }: { line: DiffLine | null; pieces: readonly Piece[] | null }) {
  if (line === null) return <div className="px-3 text-faint">⋯</div>;
  return (
    <div className={clsx("flex", LOOK[line.kind])}>
      <span aria-hidden className="tabular w-10 shrink-0 select-none pr-2 text-right text-faint">
        {line.new ?? line.old ?? ""}
      </span>
      <span className="w-4 shrink-0 whitespace-pre text-faint">{SIGN[line.kind]}</span>
      <span className="whitespace-pre pr-3">
        {pieces === null ? <Marked text={line.text} /> : <Pieces pieces={pieces} />}
      </span>
    </div>
  );
}
