// A unified diff, read into files, hunks and numbered lines; and those lines side by side. Pure.

export type Status = "changed" | "added" | "deleted" | "renamed";

export interface Line {
  kind: "same" | "added" | "removed";
  /** Line numbers before and after; null where there is none. */
  old: number | null;
  new: number | null;
  text: string;
}

export interface Hunk {
  /** The function or heading that git names. */
  context: string;
  lines: readonly Line[];
}

export interface DiffFile {
  /** Tells apart changes of one file that others wrote in between; without it, the path does. */
  id?: string;
  path: string;
  oldPath: string;
  status: Status;
  binary: boolean;
  /** Its lines are read when somebody wants to see them. */
  leftOut?: boolean;
  hunks: readonly Hunk[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;
const NOWHERE = "/dev/null";

export function parseDiff(text: string): DiffFile[] {
  const reader = new Reader();
  const lines = text.split("\n");
  // What follows the last line end is no line.
  if (lines.at(-1) === "") lines.pop();
  for (const line of lines) reader.read(line);
  return reader.done();
}

interface Draft extends DiffFile {
  hunks: { context: string; lines: Line[] }[];
}

class Reader {
  private readonly files: Draft[] = [];
  private file: Draft | null = null;
  /** What is left of the hunk, before and after: inside of it "--- x" is a line that was removed. */
  private left = { old: 0, new: 0 };
  private at = { old: 0, new: 0 };

  read(line: string): void {
    if (this.left.old > 0 || this.left.new > 0) this.inHunk(line);
    else this.head(line);
  }

  done(): DiffFile[] {
    return this.files;
  }

  private begin(): Draft {
    const file: Draft = {
      path: "",
      oldPath: "",
      status: "changed",
      binary: false,
      hunks: [],
      added: 0,
      removed: 0,
    };
    this.files.push(file);
    this.file = file;
    return file;
  }

  private head(line: string): void {
    const hunk = HUNK.exec(line);
    if (hunk !== null && this.file !== null) {
      this.at = { old: Number(hunk[1]), new: Number(hunk[3]) };
      this.left = { old: Number(hunk[2] ?? 1), new: Number(hunk[4] ?? 1) };
      this.file.hunks.push({ context: hunk[5] ?? "", lines: [] });
    } else if (line.startsWith("diff --git ")) {
      const names = namesOf(line.slice("diff --git ".length));
      Object.assign(this.begin(), names);
    } else if (line.startsWith("--- ")) {
      const path = pathOf(line.slice(4));
      // Without a line from git a file begins here.
      const file =
        this.file === null || this.file.hunks.length > 0 || this.file.binary ? this.begin() : this.file;
      if (path === NOWHERE) file.status = "added";
      else file.oldPath = path;
    } else if (this.file !== null) this.about(this.file, line);
  }

  private about(file: Draft, line: string): void {
    if (line.startsWith("+++ ")) {
      const path = pathOf(line.slice(4));
      if (path === NOWHERE) {
        file.status = "deleted";
        file.path = file.oldPath;
      } else {
        file.path = path;
        if (file.status === "added") file.oldPath = path;
      }
    } else if (line.startsWith("new file")) file.status = "added";
    else if (line.startsWith("deleted file")) file.status = "deleted";
    else if (line.startsWith("rename from ")) {
      file.status = "renamed";
      file.oldPath = unquoted(line.slice("rename from ".length));
    } else if (line.startsWith("rename to ")) file.path = unquoted(line.slice("rename to ".length));
    else if (line.startsWith("Binary files ") || line.startsWith("GIT binary patch")) file.binary = true;
  }

  private inHunk(line: string): void {
    const hunk = this.file?.hunks.at(-1);
    const file = this.file;
    if (hunk === undefined || file === null) return;
    const text = line.slice(1);
    switch (line[0]) {
      case "+":
        hunk.lines.push({ kind: "added", old: null, new: this.at.new++, text });
        this.left.new -= 1;
        file.added += 1;
        return;
      case "-":
        hunk.lines.push({ kind: "removed", old: this.at.old++, new: null, text });
        this.left.old -= 1;
        file.removed += 1;
        return;
      case "\\":
        return;
      default:
        hunk.lines.push({ kind: "same", old: this.at.old++, new: this.at.new++, text });
        this.left.old -= 1;
        this.left.new -= 1;
    }
  }
}

function namesOf(text: string): { path: string; oldPath: string } {
  const quoted = /^("(?:[^"\\]|\\.)*"|a\/.*?) ("(?:[^"\\]|\\.)*"|b\/.*)$/.exec(text);
  const [oldPath, path] = [quoted?.[1] ?? text, quoted?.[2] ?? text];
  return { oldPath: pathOf(oldPath), path: pathOf(path) };
}

function pathOf(text: string): string {
  // Git puts a tab behind names with blanks.
  const name = unquoted(text.replace(/\t$/, ""));
  return name === NOWHERE ? name : name.replace(/^[ab]\//, "");
}

/** Git writes odd names in quotes, byte by byte. */
function unquoted(text: string): string {
  if (!text.startsWith('"')) return text;
  const bytes: number[] = [];
  const inner = text.slice(1, -1);
  for (const [piece] of inner.matchAll(/\\[0-7]{3}|\\.|[^\\]+/gs)) {
    if (/^\\[0-7]/.test(piece)) bytes.push(Number.parseInt(piece.slice(1), 8));
    else if (piece.startsWith("\\")) bytes.push(...encoder.encode(ESCAPES[piece[1] ?? ""] ?? piece[1]));
    else bytes.push(...encoder.encode(piece));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

const encoder = new TextEncoder();
const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r" };

// --- side by side ---

export interface Pair {
  left: Line | null;
  right: Line | null;
}

/** What was removed beside what was added in its place. */
export function pairs(lines: readonly Line[]): Pair[] {
  const found: Pair[] = [];
  let removed: Line[] = [];
  let added: Line[] = [];
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++) {
      found.push({ left: removed[i] ?? null, right: added[i] ?? null });
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "removed") {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.kind === "added") added.push(line);
    else {
      flush();
      found.push({ left: line, right: line });
    }
  }
  flush();
  return found;
}

/** The line that stands in the place of each changed one, to show what differs within it. */
export function counterparts(lines: readonly Line[]): Map<Line, Line> {
  const found = new Map<Line, Line>();
  for (const { left, right } of pairs(lines)) {
    if (left === null || right === null || left === right) continue;
    found.set(left, right);
    found.set(right, left);
  }
  return found;
}

/** Where a text differs from another: what is the same at both ends is left out. Null: nearly everything. */
export function differing(text: string, other: string): [from: number, to: number] | null {
  const most = Math.min(text.length, other.length);
  let from = 0;
  while (from < most && text[from] === other[from]) from++;
  let end = 0;
  while (end < most - from && text[text.length - 1 - end] === other[other.length - 1 - end]) end++;
  const same = text.slice(0, from).trim().length + end;
  return same * 3 < text.trim().length ? null : [from, text.length - end];
}
