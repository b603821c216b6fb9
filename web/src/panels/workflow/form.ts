// A form made of the JSON Schema that a workflow declares for its arguments, and what was filled in as
// arguments. What a form cannot show is written as JSON. Pure.

export type FieldKind = "text" | "number" | "switch" | "choice" | "lines" | "json";

export interface FormField {
  name: string;
  kind: FieldKind;
  description: string;
  required: boolean;
  whole: boolean;
  least: number | null;
  most: number | null;
  choices: readonly string[];
  /** What stands in it at first. */
  start: string;
}

export type Values = Readonly<Record<string, string>>;

type Schema = Record<string, unknown>;

/** Null: these arguments cannot be filled in as a form. */
export function fieldsOf(schema: unknown): FormField[] | null {
  if (!isObject(schema)) return null;
  const properties = schema.properties;
  if (!isObject(properties) || Object.keys(properties).length === 0) return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, inner]) =>
    fieldOf(name, isObject(inner) ? inner : {}, required.includes(name)),
  );
}

function fieldOf(name: string, schema: Schema, required: boolean): FormField {
  const kind = kindOf(schema);
  const number = (value: unknown) => (typeof value === "number" ? value : null);
  return {
    name,
    kind,
    description: typeof schema.description === "string" ? schema.description : "",
    required,
    whole: schema.type === "integer",
    least: number(schema.minimum),
    most: number(schema.maximum),
    choices: kind === "choice" ? (schema.enum as unknown[]).map(String) : [],
    start: schema.default === undefined ? "" : written(kind, schema.default),
  };
}

function kindOf(schema: Schema): FieldKind {
  if (Array.isArray(schema.enum) && schema.enum.every(one => typeof one === "string")) return "choice";
  switch (schema.type) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "switch";
    case "array":
      return isObject(schema.items) && schema.items.type === "string" ? "lines" : "json";
    default:
      return "json";
  }
}

/** A value as it stands in its field. */
export function written(kind: FieldKind, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (kind === "lines" && Array.isArray(value)) return value.join("\n");
  if (kind === "json") return JSON.stringify(value);
  return String(value);
}

export function valuesOf(fields: readonly FormField[], args: unknown): Values {
  const known = isObject(args) ? args : {};
  return Object.fromEntries(
    fields.map(field => [
      field.name,
      known[field.name] === undefined ? field.start : written(field.kind, known[field.name]),
    ]),
  );
}

export interface Filled {
  args: Record<string, unknown>;
  /** What is wrong, by field. */
  wrong: Readonly<Record<string, Wrong>>;
}

export type Wrong = "missing" | "number" | "range" | "json";

export function argsOf(fields: readonly FormField[], values: Values): Filled {
  const args: Record<string, unknown> = {};
  const wrong: Record<string, Wrong> = {};
  for (const field of fields) {
    const text = values[field.name] ?? "";
    if (text.trim() === "") {
      if (field.required && field.kind === "switch") args[field.name] = false;
      else if (field.required) wrong[field.name] = "missing";
      continue;
    }
    const read = readField(field, text);
    if (read.wrong === null) args[field.name] = read.value;
    else wrong[field.name] = read.wrong;
  }
  return { args, wrong };
}

function readField(field: FormField, text: string): { value: unknown; wrong: Wrong | null } {
  const good = (value: unknown) => ({ value, wrong: null });
  const bad = (wrong: Wrong) => ({ value: null, wrong });
  switch (field.kind) {
    case "text":
    case "choice":
      return good(text);
    case "switch":
      return good(text === "true");
    case "lines":
      return good(text.split("\n").filter(line => line.trim() !== ""));
    case "number": {
      const value = Number(text);
      if (Number.isNaN(value) || (field.whole && !Number.isInteger(value))) return bad("number");
      const inside = value >= (field.least ?? value) && value <= (field.most ?? value);
      return inside ? good(value) : bad("range");
    }
    case "json":
      try {
        return good(JSON.parse(text));
      } catch {
        return bad("json");
      }
  }
}

/** JSON as it was typed; nothing is no argument at all. */
export function readJson(text: string): { args: unknown; wrong: string | null } {
  if (text.trim() === "") return { args: undefined, wrong: null };
  try {
    return { args: JSON.parse(text), wrong: null };
  } catch (error) {
    return { args: undefined, wrong: error instanceof Error ? error.message : String(error) };
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
