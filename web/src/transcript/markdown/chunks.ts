// Long text in pieces that are read and drawn by themselves: while text streams only the last piece changes, and
// no piece is so long that reading it would be felt. Pure.

/** What is read as markdown in one go; the longest that a hostile text can make slow. */
export const LONGEST_CHUNK = 8_000;

export interface Chunk {
  text: string;
  /** The rest of a piece that was too long: shown as it is written. */
  plain: boolean;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** Begins with a blank, or could belong to the list, quote or table above. */
const GOES_ON = /^(?:[ \t]|[-*+>|]|\d{1,9}[.)])/;

/** Cuts at blank lines where nothing can go on across them: outside of code, lists, quotes and tables. */
export function chunksOf(text: string): Chunk[] {
  const chunks: Chunk[] = [];
  let start = 0;
  let fence: string | null = null;
  let blank = false;
  let maths = false;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(at, Math.min(end, at + 200));
    const mark = FENCE.exec(line)?.[1];
    if (blank && fence === null && !maths && at > start && !GOES_ON.test(line)) {
      add(chunks, text.slice(start, at));
      start = at;
    }
    if (fence === null && line.trim() === "$$") maths = !maths;
    else if (mark !== undefined && fence === null) fence = mark;
    else if (mark !== undefined && fence !== null && closes(line, mark, fence)) fence = null;
    blank = line.trim() === "";
    at = end + 1;
  }
  if (start < text.length) add(chunks, text.slice(start));
  return chunks;
}

function closes(line: string, mark: string, fence: string): boolean {
  return mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark;
}

function add(chunks: Chunk[], text: string): void {
  // Code is read in one pass however long it is.
  if (text.length <= LONGEST_CHUNK || FENCE.test(text)) {
    chunks.push({ text, plain: false });
    return;
  }
  const cut = text.lastIndexOf("\n", LONGEST_CHUNK);
  const first = cut > 0 ? cut + 1 : LONGEST_CHUNK;
  chunks.push({ text: text.slice(0, first), plain: false }, { text: text.slice(first), plain: true });
}

const DEFINITION = /^ {0,3}\[([^\]\n]{1,200})\]:[ \t]*<?([^\s>]{1,2000})>?/gm;

/** Where `[name]` leads, for all pieces: a definition stands anywhere in the text. */
export function definitionsOf(text: string): ReadonlyMap<string, string> {
  if (!text.includes("]:")) return NONE;
  return new Map([...text.matchAll(DEFINITION)].map(([, name = "", url = ""]) => [name.toLowerCase(), url]));
}

const NONE: ReadonlyMap<string, string> = new Map();

/** As much as is shown at first, cut at a line; 0: all of it. */
export function cutAt(text: string, most: number): number {
  if (text.length <= most) return 0;
  const line = text.lastIndexOf("\n", most);
  return line > most / 2 ? line + 1 : most;
}
