// Where the words of a search are in a line. Pure; case does not count.

export interface FoundPiece {
  text: string;
  found: boolean;
}

export function foundPieces(line: string, query: string): FoundPiece[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const low = line.toLowerCase();
  // Where lower case has another length no place can be told.
  if (words.length === 0 || low.length !== line.length) return [{ text: line, found: false }];
  const pieces: FoundPiece[] = [];
  let from = 0;
  while (from < line.length) {
    const next = words
      .map(word => ({ at: low.indexOf(word, from), length: word.length }))
      .filter(one => one.at >= 0)
      .sort((one, other) => one.at - other.at || other.length - one.length)[0];
    if (next === undefined) break;
    if (next.at > from) pieces.push({ text: line.slice(from, next.at), found: false });
    pieces.push({ text: line.slice(next.at, next.at + next.length), found: true });
    from = next.at + next.length;
  }
  if (from < line.length) pieces.push({ text: line.slice(from), found: false });
  return pieces;
}
