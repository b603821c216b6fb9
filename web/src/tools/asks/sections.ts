// What a call is about to do, in parts that a person can read: commands, diffs, texts, values. What is long is
// folded, and it is known how much of it. Pure.

import { commandIn, type Fields, fieldsOf, listIn, readable, textIn } from "../input";

export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
}

export type Section =
  | { kind: "value"; label: string; text: string }
  | { kind: "text"; label: string; text: string }
  | { kind: "diff"; label: string; lines: readonly DiffLine[] };

export interface Folded {
  section: Section;
  /** Lines that are not shown until they are asked for. */
  hidden: number;
}

const MOST_LINES = 24;
const MOST_CHARACTERS = 2_500;
const SHORT = 100;
const DEFAULT_TIMEOUT_SECONDS = 30;

export function sectionsOf(name: string, input: unknown): Section[] {
  const fields = fieldsOf(input);
  const edits = listIn(input, "edits");
  if (name === "edit_files" && edits.length > 0) return edits.map(editOf).concat(rest(fields, ["edits"]));
  if (name === "write_file" && typeof fields.content === "string") {
    const lines = linesIn(fields.content).map((text): DiffLine => ({ kind: "added", text }));
    const file: Section = { kind: "diff", label: textIn(input, "path"), lines };
    return [file, ...rest(fields, ["path", "content"])];
  }
  if (name === "execute" && commandIn(fields) !== "") return commandOf(fields);
  const all = rest(fields, []);
  return all.length > 0 ? all : [{ kind: "text", label: name, text: readable(input) }];
}

function commandOf(fields: Fields): Section[] {
  const seconds =
    typeof fields.timeout_seconds === "number" ? fields.timeout_seconds : DEFAULT_TIMEOUT_SECONDS;
  return [
    { kind: "text", label: "command", text: commandIn(fields) },
    { kind: "value", label: "directory", text: textIn(fields, "cwd") || "." },
    ...(fields.background === true
      ? [{ kind: "value" as const, label: "background", text: "true" }]
      : [{ kind: "value" as const, label: "timeout", text: `${seconds} s` }]),
    ...rest(fields, ["command", "args", "cwd", "timeout_seconds", "background"]),
  ];
}

function editOf(edit: unknown): Section {
  const fields = fieldsOf(edit);
  const all = fields.all === true ? " (every occurrence)" : "";
  return {
    kind: "diff",
    label: textIn(edit, "path") + all,
    lines: differences(linesIn(textIn(edit, "old")), linesIn(textIn(edit, "new"))),
  };
}

/** Every field that was not shown otherwise; what is nested keeps the names that lead to it. */
function rest(fields: Fields, shown: readonly string[], prefix = "", depth = 0): Section[] {
  return Object.entries(fields).flatMap(([field, value]): Section[] => {
    if (shown.includes(field)) return [];
    const label = prefix + field;
    const inside = fieldsOf(value);
    if (depth < 2 && Object.keys(inside).length > 0) return rest(inside, [], `${label}.`, depth + 1);
    const text =
      Array.isArray(value) && value.every(one => typeof one === "string")
        ? value.join("\n")
        : readable(value);
    const short = text.length <= SHORT && !text.includes("\n");
    return [{ kind: short ? "value" : "text", label, text }];
  });
}

/** The beginning of a section, and how many lines follow. */
export function fold(section: Section): Folded {
  if (section.kind === "diff") {
    const most = fitting(section.lines.map(line => line.text));
    const hidden = section.lines.length - most;
    return hidden <= 0
      ? { section, hidden: 0 }
      : { section: { ...section, lines: section.lines.slice(0, most) }, hidden };
  }
  const lines = section.text.split("\n");
  const most = fitting(lines);
  if (most < lines.length)
    return { section: { ...section, text: lines.slice(0, most).join("\n") }, hidden: lines.length - most };
  if (section.text.length <= MOST_CHARACTERS) return { section, hidden: 0 };
  return { section: { ...section, text: section.text.slice(0, MOST_CHARACTERS) }, hidden: 1 };
}

/** How many lines are shown at first: a few more than the limit are not worth folding. */
function fitting(lines: readonly string[]): number {
  let characters = 0;
  for (const [index, line] of lines.entries()) {
    characters += line.length + 1;
    if (index > 0 && characters > MOST_CHARACTERS) return index;
  }
  return lines.length > MOST_LINES + 4 ? MOST_LINES : lines.length;
}

const linesIn = (text: string): string[] => {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
};

const MOST_COMPARED = 400_000;

/** The lines of both, what they share once. Longest common lines; of very long texts only beginning and end. */
export function differences(old: readonly string[], now: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end))
    end += 1;
  const [before, after] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const line =
    (kind: DiffLine["kind"]) =>
    (text: string): DiffLine => ({ kind, text });
  return [
    ...old.slice(0, start).map(line("same")),
    ...(before.length * after.length > MOST_COMPARED
      ? [...before.map(line("removed")), ...after.map(line("added"))]
      : compared(before, after)),
    ...old.slice(old.length - end).map(line("same")),
  ];
}

function compared(old: readonly string[], now: readonly string[]): DiffLine[] {
  const width = now.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      common[i * width + j] =
        old[i] === now[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const [before, after] = [old[i], now[j]];
    if (before !== undefined && before === after) {
      lines.push({ kind: "same", text: before });
      i += 1;
      j += 1;
    } else if (
      before !== undefined &&
      (after === undefined || (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      lines.push({ kind: "removed", text: before });
      i += 1;
    } else {
      lines.push({ kind: "added", text: after ?? "" });
      j += 1;
    }
  }
  return lines;
}
