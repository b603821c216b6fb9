// Where a formula begins and ends. Pure.

export interface Maths {
  type: "maths";
  raw: string;
  text: string;
  display: boolean;
}

const PAIRS: readonly [open: string, close: string, display: boolean][] = [
  ["$$", "$$", true],
  ["\\[", "\\]", true],
  ["\\(", "\\)", false],
  ["$", "$", false],
];

/** The formula at the beginning of a text. `$5 and $6` are prices and none. */
export function mathsAt(source: string): Maths | undefined {
  for (const [open, close, display] of PAIRS) {
    if (!source.startsWith(open)) continue;
    const end = source.indexOf(close, open.length);
    if (end < 0) return undefined;
    const text = source.slice(open.length, end);
    const blank = text.includes("\n\n");
    const price = open === "$" && (/^\s|\s$|\n/.test(text) || /\d/.test(source[end + 1] ?? ""));
    if (text.trim() === "" || blank || price) return undefined;
    return { type: "maths", raw: source.slice(0, end + close.length), text: text.trim(), display };
  }
  return undefined;
}
