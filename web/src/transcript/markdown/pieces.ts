// The pieces of a line in a chain, and how delimiters among them find each other. Pure but for the chain itself,
// which belongs to whoever reads the line.

export type Node =
  | { type: "text"; text: string }
  | { type: "code"; text: string }
  | { type: "break" }
  | { type: "maths"; text: string; display: boolean }
  | { type: "em" | "strong" | "del"; children: Node[] }
  | { type: "link"; href: string; children: Node[] }
  | { type: "image"; href: string; text: string };

export interface Delimiter {
  sign: string;
  count: number;
  opens: boolean;
  closes: boolean;
}

export interface Bracket {
  image: boolean;
  /** A link inside of a link is none. */
  active: boolean;
  /** Where the text after it begins. */
  from: number;
}

/** A piece of the line, in a chain: pieces are put into others without moving the rest. */
export interface Piece {
  node: Node;
  delimiter: Delimiter | null;
  bracket: Bracket | null;
  before: Piece | null;
  after: Piece | null;
}

/** The nearest piece in front of a closer that opens what it closes. */
export function openerOf(closer: Piece, bottom: Piece | null): Piece | null {
  const close = closer.delimiter;
  if (close === null) return null;
  for (let piece = closer.before; piece !== null && piece !== bottom; piece = piece.before) {
    const open = piece.delimiter;
    if (open === null || !open.opens || open.sign !== close.sign) continue;
    if (close.sign === "~") {
      if (open.count === close.count) return piece;
      continue;
    }
    // "a*b**c" : a run that both opens and closes does not pair with one of another length modulo three.
    const odd =
      (open.closes || close.opens) &&
      (open.count + close.count) % 3 === 0 &&
      !(open.count % 3 === 0 && close.count % 3 === 0);
    if (!odd) return piece;
  }
  return null;
}

export function shorten(piece: Piece, by: number): void {
  if (piece.delimiter === null || piece.node.type !== "text") return;
  piece.delimiter = { ...piece.delimiter, count: piece.delimiter.count - by };
  piece.node.text = piece.node.text.slice(by);
}

export function nodes(from: Piece | null, to: Piece | null): Node[] {
  const all: Node[] = [];
  for (let piece = from; piece !== null && piece !== to; piece = piece.after) {
    const last = all.at(-1);
    if (piece.node.type === "text" && last?.type === "text") last.text += piece.node.text;
    else if (piece.node.type !== "text" || piece.node.text !== "") all.push(piece.node);
  }
  return all;
}

/** What nodes say, without their looks. */
export function flat(all: readonly Node[]): string {
  return all
    .map(node => ("text" in node ? node.text : "children" in node ? flat(node.children) : "\n"))
    .join("");
}
