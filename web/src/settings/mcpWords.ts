// What people type of an MCP server, one thing in each line. Pure.

/** A program and its arguments, a line each; or an address. */
export function wordsIn(text: string): readonly string[] {
  return text
    .split("\n")
    .map(line => line.trim())
    .filter(line => line !== "");
}

/** `NAME=value`, a line each. */
export function pairsIn(text: string): Readonly<Record<string, string>> {
  const pairs = wordsIn(text).flatMap(line => {
    const at = line.indexOf("=");
    return at > 0 ? [[line.slice(0, at).trim(), line.slice(at + 1).trim()] as const] : [];
  });
  return Object.fromEntries(pairs);
}
