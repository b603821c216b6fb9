// The lines of a changed file in colours. Each side of a hunk is read as one piece of code, so that what spans several
// lines is known for what it is. Done for a file when its first line is drawn.

import type { DiffFile, Line } from "@/panels/changes/parse";
import type { Piece } from "@/transcript/markdown/highlight";
import { languageOf } from "./language";
import { linesOf } from "./pieces";
import type { Highlight } from "./useHighlighter";

type Colours = ReadonlyMap<Line, readonly Piece[]>;

const NONE: Colours = new Map();
const known = new WeakMap<DiffFile, Colours>();

/** Null: the line stays plain. */
export function coloursOf(file: DiffFile, line: Line, highlight: Highlight | null): readonly Piece[] | null {
  if (highlight === null) return null;
  let colours = known.get(file);
  if (colours === undefined) {
    colours = colouredLines(file, highlight);
    known.set(file, colours);
  }
  return colours.get(line) ?? null;
}

export function colouredLines(file: DiffFile, highlight: Highlight): Colours {
  const language = languageOf(file.path);
  if (language === "") return NONE;
  const colours = new Map<Line, readonly Piece[]>();
  for (const hunk of file.hunks) {
    // What is the same on both sides takes its colours from the new one, which comes last.
    for (const gone of ["added", "removed"] as const) {
      const side = hunk.lines.filter(line => line.kind !== gone);
      const pieces = highlight(side.map(line => line.text).join("\n"), language);
      if (pieces === null) continue;
      const lines = linesOf(pieces);
      side.forEach((line, index) => {
        colours.set(line, lines[index] ?? []);
      });
    }
  }
  return colours;
}
