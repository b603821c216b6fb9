// What stands inside of a line: emphasis, code, links, pictures, formulas. Read in one pass with a list of
// delimiters, so that no text takes longer than its length allows. Pure; nothing of it is HTML.

import { trimmed, withoutEscapes } from "./links";
import { mathsAt } from "./maths";
import { type Bracket, flat, type Node, nodes, openerOf, type Piece, shorten } from "./pieces";

const LONGEST_LINK = 2_000;
const LONGEST_FORMULA = 2_000;
const PUNCTUATION = /[!-/:-@[-`{-~\p{P}\p{S}]/u;
const ESCAPED = /[!-/:-@[-`{-~]/;
const SPECIAL = /[\\`*_~[\]!<\n$hw]/g;
const BARE = /(?:https?:\/\/|www\.)[^\s<]{1,2000}/iy;
const ANGLED = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>|<([\w.+-]{1,64}@[\w.-]{1,255})>/iy;
const DESTINATION =
  /\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)/y;
const REFERENCE = /\[([^[\]]{0,200})\]/y;

export function inlineOf(text: string, definitions: ReadonlyMap<string, string> = new Map()): Node[] {
  return new Reader(text, definitions).read();
}

class Reader {
  private at = 0;
  private first: Piece | null = null;
  private last: Piece | null = null;
  private readonly brackets: Piece[] = [];
  private ticks: Map<number, number[]> | null = null;

  constructor(
    private readonly text: string,
    private readonly definitions: ReadonlyMap<string, string>,
  ) {}

  read(): Node[] {
    const { text } = this;
    while (this.at < text.length) {
      SPECIAL.lastIndex = this.at;
      const next = SPECIAL.exec(text)?.index ?? text.length;
      if (next > this.at) this.say(text.slice(this.at, next));
      this.at = next;
      if (next < text.length) this.special(text[next] ?? "");
    }
    this.emphasise(null);
    return nodes(this.first, null);
  }

  private special(sign: string): void {
    const read = this.reader(sign);
    if (!read()) this.literal(1);
  }

  /** What reads a sign; it answers whether the sign means something here. */
  private reader(sign: string): () => boolean {
    switch (sign) {
      case "\\":
        return () => this.formula() || this.escape();
      case "$":
        return () => this.formula();
      case "`":
        return () => this.code();
      case "*":
      case "_":
      case "~":
        return () => this.delimiter(sign);
      case "[":
        return () => this.bracket(false);
      case "!":
        return () => this.text[this.at + 1] === "[" && this.bracket(true);
      case "]":
        return () => this.closeBracket();
      case "<":
        return () => this.angled();
      case "\n":
        return () => this.newline();
      default:
        return () => this.bare();
    }
  }

  // --- pieces ---

  private put(node: Node, more: Partial<Piece> = {}): Piece {
    const piece: Piece = { node, delimiter: null, bracket: null, before: this.last, after: null, ...more };
    if (this.last === null) this.first = piece;
    else this.last.after = piece;
    this.last = piece;
    return piece;
  }

  private say(text: string): void {
    const last = this.last;
    if (last?.node.type === "text" && last.delimiter === null && last.bracket === null)
      last.node.text += text;
    else this.put({ type: "text", text });
  }

  private literal(length: number): void {
    this.say(this.text.slice(this.at, this.at + length));
    this.at += length;
  }

  /** The pieces after one, in a node that takes their place. */
  private wrap(from: Piece, to: Piece | null, node: (children: Node[]) => Node): void {
    const inside = from.after === to ? null : from.after;
    const piece: Piece = {
      node: node(nodes(inside, to)),
      delimiter: null,
      bracket: null,
      before: from,
      after: to,
    };
    from.after = piece;
    if (to === null) this.last = piece;
    else to.before = piece;
  }

  private remove(piece: Piece): void {
    if (piece.before === null) this.first = piece.after;
    else piece.before.after = piece.after;
    if (piece.after === null) this.last = piece.before;
    else piece.after.before = piece.before;
  }

  // --- signs ---

  private escape(): boolean {
    const next = this.text[this.at + 1];
    if (next === "\n") {
      this.put({ type: "break" });
      this.at += 2;
      return true;
    }
    if (next === undefined || !ESCAPED.test(next)) return false;
    this.at += 1;
    this.literal(1);
    return true;
  }

  private newline(): boolean {
    const before = this.last;
    const hard = before?.node.type === "text" && before.delimiter === null && / {2,}$/.test(before.node.text);
    if (before?.node.type === "text" && before.delimiter === null)
      before.node.text = before.node.text.trimEnd();
    if (hard) this.put({ type: "break" });
    else this.say("\n");
    this.at += 1;
    while (this.text[this.at] === " ") this.at += 1;
    return true;
  }

  private formula(): boolean {
    const found = mathsAt(this.text.slice(this.at, this.at + LONGEST_FORMULA));
    if (found === undefined) return false;
    this.put({ type: "maths", text: found.text, display: found.display });
    this.at += found.raw.length;
    return true;
  }

  private code(): boolean {
    let end = this.at;
    while (this.text[end] === "`") end += 1;
    const length = end - this.at;
    const closing = this.closing(length, end);
    if (closing < 0) {
      this.literal(length);
      return true;
    }
    const inside = this.text.slice(end, closing).replaceAll("\n", " ");
    const padded = /^ .* $/.test(inside) && inside.trim() !== "";
    this.put({ type: "code", text: padded ? inside.slice(1, -1) : inside });
    this.at = closing + length;
    return true;
  }

  /** Where the next run of so many backticks begins; every run is looked at once. */
  private closing(length: number, from: number): number {
    if (this.ticks === null) {
      this.ticks = new Map();
      for (const run of this.text.matchAll(/`+/g)) {
        const places = this.ticks.get(run[0].length);
        if (places === undefined) this.ticks.set(run[0].length, [run.index]);
        else places.push(run.index);
      }
      for (const places of this.ticks.values()) places.reverse();
    }
    const places = this.ticks.get(length) ?? [];
    while ((places.at(-1) ?? Number.POSITIVE_INFINITY) < from) places.pop();
    return places.at(-1) ?? -1;
  }

  private delimiter(sign: string): boolean {
    let end = this.at;
    while (this.text[end] === sign) end += 1;
    const count = end - this.at;
    const [before, after] = [this.text[this.at - 1] ?? " ", this.text[end] ?? " "];
    const left =
      !/\s/.test(after) && (!PUNCTUATION.test(after) || /\s/.test(before) || PUNCTUATION.test(before));
    const right =
      !/\s/.test(before) && (!PUNCTUATION.test(before) || /\s/.test(after) || PUNCTUATION.test(after));
    const opens = left && (sign !== "_" || !right || PUNCTUATION.test(before));
    const closes = right && (sign !== "_" || !left || PUNCTUATION.test(after));
    const known = sign !== "~" || count <= 2;
    const delimiter = known && (opens || closes) ? { sign, count, opens, closes } : null;
    this.put({ type: "text", text: sign.repeat(count) }, { delimiter });
    this.at = end;
    return true;
  }

  // --- links ---

  private bracket(image: boolean): boolean {
    const length = image ? 2 : 1;
    const bracket = { image, active: true, from: this.at + length };
    this.brackets.push(this.put({ type: "text", text: image ? "![" : "[" }, { bracket }));
    this.at += length;
    return true;
  }

  private closeBracket(): boolean {
    const opener = this.brackets.pop();
    const bracket = opener?.bracket;
    if (opener === undefined || !bracket?.active) return false;
    const target = this.target(bracket);
    if (target === null) return false;
    const [href, length] = target;
    this.emphasise(opener);
    this.wrap(opener, null, children =>
      bracket.image ? { type: "image", href, text: flat(children) } : { type: "link", href, children },
    );
    this.remove(opener);
    if (!bracket.image) this.deactivate();
    this.at += length;
    return true;
  }

  /** Around a link there is no other. */
  private deactivate(): void {
    for (const { bracket } of this.brackets) if (bracket?.image === false) bracket.active = false;
  }

  /** Where it leads, and how long that is with the bracket: (address), [name], or by its own name. */
  private target({ from }: Bracket): [href: string, length: number] | null {
    const after = this.at + 1;
    if (this.text[after] === "(") {
      const found = sticky(DESTINATION, this.text.slice(after, after + LONGEST_LINK));
      if (found !== null) return [withoutEscapes(found[1] ?? found[2] ?? ""), found[0].length + 1];
    }
    const reference =
      this.text[after] === "[" ? sticky(REFERENCE, this.text.slice(after, after + 210)) : null;
    const own = this.text.slice(from, Math.min(this.at, from + 201));
    const name = reference?.[1] || own;
    const href = name.length > 200 ? undefined : this.definitions.get(name.trim().toLowerCase());
    return href === undefined ? null : [href, 1 + (reference?.[0].length ?? 0)];
  }

  private angled(): boolean {
    ANGLED.lastIndex = this.at;
    const found = ANGLED.exec(this.text);
    if (found === null) return false;
    const shown = found[1] ?? found[2] ?? "";
    const href = found[1] ?? `mailto:${found[2]}`;
    this.put({ type: "link", href, children: [{ type: "text", text: shown }] });
    this.at += found[0].length;
    return true;
  }

  private bare(): boolean {
    if (/[\p{L}\p{N}_]/u.test(this.text[this.at - 1] ?? " ")) return false;
    BARE.lastIndex = this.at;
    const found = BARE.exec(this.text)?.[0];
    const shown = found === undefined ? "" : trimmed(found);
    if (!/^(?:https?:\/\/[^/?#]|www\.[^.\s]+\.)/i.test(shown)) return false;
    const href = /^www\./i.test(shown) ? `https://${shown}` : shown;
    this.put({ type: "link", href, children: [{ type: "text", text: shown }] });
    this.at += shown.length;
    return true;
  }

  // --- emphasis ---

  /** Pairs delimiters after a piece: each closer with the nearest opener of its kind. */
  private emphasise(bottom: Piece | null): void {
    // For a kind of closer, behind what nothing needs to be looked for again.
    const bottoms = new Map<string, Piece | null>();
    let closer = bottom === null ? this.first : bottom.after;
    while (closer !== null) {
      const close = closer.delimiter;
      if (close === null || !close.closes) {
        closer = closer.after;
        continue;
      }
      const kind = `${close.sign}${close.opens}${close.sign === "~" ? close.count : close.count % 3}`;
      const opener = openerOf(closer, bottoms.get(kind) ?? bottom);
      if (opener === null) {
        bottoms.set(kind, closer.before);
        if (!close.opens) closer.delimiter = null;
        closer = closer.after;
        continue;
      }
      closer = this.pair(opener, closer);
    }
    for (let piece = bottom === null ? this.first : bottom.after; piece !== null; piece = piece.after) {
      piece.delimiter = null;
    }
  }

  /** Where to go on. */
  private pair(opener: Piece, closer: Piece): Piece | null {
    const [open, close] = [opener.delimiter, closer.delimiter];
    if (open === null || close === null) return closer.after;
    const used = open.sign === "~" ? open.count : open.count >= 2 && close.count >= 2 ? 2 : 1;
    const type = open.sign === "~" ? "del" : used === 2 ? "strong" : "em";
    // Delimiters in between pair with nothing any more.
    for (let piece = opener.after; piece !== null && piece !== closer; piece = piece.after)
      piece.delimiter = null;
    this.wrap(opener, closer, children => ({ type, children }));
    shorten(opener, used);
    shorten(closer, used);
    if (opener.delimiter?.count === 0) this.remove(opener);
    if (closer.delimiter?.count !== 0) return closer;
    this.remove(closer);
    return closer.after;
  }
}

function sticky(pattern: RegExp, text: string): RegExpExecArray | null {
  pattern.lastIndex = 0;
  return pattern.exec(text);
}
