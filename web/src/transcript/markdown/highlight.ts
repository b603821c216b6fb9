// Colours for code, loaded when the first piece of code is shown. Too long or unknown code stays plain.

import { common, createLowlight } from "lowlight";

export interface Piece {
  text: string;
  /** The kind of thing, as a class; null: nothing of note. */
  kind: string | null;
}

const LONGEST = 30_000;
const lowlight = createLowlight(common);

type Node = ReturnType<typeof lowlight.highlight>["children"][number];

/** Null: there is nothing to colour. */
export function highlight(code: string, language: string): Piece[] | null {
  if (code.length > LONGEST || !lowlight.registered(language)) return null;
  const pieces: Piece[] = [];
  for (const child of lowlight.highlight(language, code).children) collect(child, null, pieces);
  return pieces;
}

function collect(node: Node, kind: string | null, pieces: Piece[]): void {
  if (node.type === "text") pieces.push({ text: node.value, kind });
  if (node.type !== "element") return;
  const names = node.properties.className;
  const own = Array.isArray(names) && typeof names[0] === "string" ? names[0] : null;
  for (const child of node.children) collect(child, own ?? kind, pieces);
}
