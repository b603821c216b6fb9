// The form that a server describes with a schema, and what was filled in. Pure: the schema is a stranger's.

export interface AskedField {
  name: string;
  title: string;
  hint: string;
  kind: "text" | "number" | "boolean";
  choices: readonly string[];
  required: boolean;
}

const MOST_FIELDS = 30;

export function fieldsOf(schema: unknown): readonly AskedField[] {
  const described = objectIn(schema);
  const required = Array.isArray(described.required) ? described.required : [];
  return Object.entries(objectIn(described.properties))
    .slice(0, MOST_FIELDS)
    .map(([name, value]) => {
      const field = objectIn(value);
      const choices = Array.isArray(field.enum) ? field.enum.filter(one => typeof one === "string") : [];
      return {
        name,
        title: textOf(field.title) || name,
        hint: textOf(field.description),
        kind:
          field.type === "boolean"
            ? "boolean"
            : field.type === "number" || field.type === "integer"
              ? "number"
              : "text",
        choices,
        required: required.includes(name),
      };
    });
}

export function contentOf(
  fields: readonly AskedField[],
  given: Readonly<Record<string, string | boolean>>,
): Record<string, string | number | boolean> {
  const content: Record<string, string | number | boolean> = {};
  for (const { name, kind } of fields) {
    const value = given[name];
    if (kind === "boolean") content[name] = value === true;
    else if (typeof value === "string" && value !== "") {
      const number = Number(value);
      content[name] = kind === "number" && !Number.isNaN(number) ? number : value;
    }
  }
  return content;
}

/** What a form begins with: the defaults of the schema. */
export function givenFirst(schema: unknown): Readonly<Record<string, string | boolean>> {
  const given: Record<string, string | boolean> = {};
  for (const [name, value] of Object.entries(objectIn(objectIn(schema).properties))) {
    const first = objectIn(value).default;
    if (typeof first === "boolean" || typeof first === "string") given[name] = first;
    else if (typeof first === "number") given[name] = String(first);
  }
  return given;
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
