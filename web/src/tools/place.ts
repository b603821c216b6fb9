// Where a path leads that may have a line behind it: `src/main.py:12`, `src/main.py:12:5`. Pure.

export interface Place {
  path: string;
  line: number | null;
}

const LINE = /^(.+?):(\d{1,9})(?:[:-]\d+)?$/;

export function placeOf(text: string): Place {
  const [, path, line] = LINE.exec(text) ?? [];
  return path === undefined ? { path: text, line: null } : { path, line: Number(line) };
}
