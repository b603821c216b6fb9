// Markdown to the tokens of its blocks, which components draw: no HTML is ever made of it. What stands inside of
// a line is read by `inline`. What cannot be read is shown as it is.

import { Lexer, Marked, type Token, type TokenizerExtension, type Tokens } from "marked";
import { type Maths, mathsAt } from "./maths";

export type { Maths, Token, Tokens };

const maths: TokenizerExtension = {
  name: "maths",
  level: "block",
  tokenizer: source => {
    if (!source.startsWith("$$") && !source.startsWith("\\[")) return undefined;
    const found = mathsAt(source);
    const alone = found !== undefined && /^[ \t]*(?:\n|$)/.test(source.slice(found.raw.length));
    return alone ? found : undefined;
  },
};

const options = new Marked({ gfm: true, extensions: [maths] }).defaults;

/** Only the blocks: reading lines is where this library can be made slow. */
export function tokensOf(text: string): Token[] {
  const lexer = new Lexer(options);
  try {
    return lexer.blockTokens(text.replace(/\r\n|\r/g, "\n"));
  } catch {
    // Nested so deeply that reading it ran out of room.
    return [{ type: "html", raw: text, text, block: true, pre: false }];
  }
}

const NAMED: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  mdash: "—",
  ndash: "–",
  hellip: "…",
  larr: "←",
  rarr: "→",
  times: "×",
};

/** Text as it reads: `&amp;` is a `&`. */
export function plain(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? (NAMED[name] ?? whole) : whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
