// Reading what a model wrote as the input of a call, and what a tool answered: nothing is known of their shape.

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function textIn(value: unknown, name: string): string {
  const found = fieldsOf(value)[name];
  return typeof found === "string" ? found : typeof found === "number" ? String(found) : "";
}

export function listIn(value: unknown, name: string): readonly unknown[] {
  const found = fieldsOf(value)[name];
  return Array.isArray(found) ? found : [];
}

export function textsIn(value: unknown, name: string): string[] {
  return listIn(value, name).filter(one => typeof one === "string");
}

/** What a call runs, as one would type it: a line for the shell, or a program and its arguments. */
export function commandIn(input: unknown): string {
  const words = textsIn(input, "args");
  return textIn(input, "command") || words.map(shellWord).join(" ");
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** A value as people read it: text as it is, anything else as JSON. */
export function readable(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

/** The beginning of a JSON text that is not complete yet: the fields that are. */
export function partial(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    const found = [...text.slice(0, 2000).matchAll(/"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)"/g)];
    return Object.fromEntries(found.map(([, name, value]) => [name, unquoted(value ?? "")]));
  }
}

function unquoted(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
