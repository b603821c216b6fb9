// A value as it is: text, or JSON with its lines. Longer texts inside of an object stand for themselves, where
// they can be read.

import { texts as all } from "@/texts";
import { ScrolledText } from "@/ui/ScrolledText";
import { CopyButton } from "./CopyButton";

export function Value({ title, value }: { title: string; value: unknown }) {
  if (value === undefined || value === null || value === "") return null;
  const whole = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const { rest, texts } = piecesOf(value);
  return (
    <div className="flex flex-col gap-1">
      <div className="flex items-center justify-between text-soft">
        <h3 className="font-medium text-xs">{title}</h3>
        <CopyButton text={whole} label={all.panels.copy(title)} />
      </div>
      {rest !== null && <Pre text={rest} />}
      {texts.map(([name, text]) => (
        <div key={name} className="flex flex-col gap-0.5">
          <span className="font-mono text-faint text-xs">{name}</span>
          <Pre text={text} />
        </div>
      ))}
    </div>
  );
}

function Pre({ text }: { text: string }) {
  return (
    <ScrolledText className="max-h-72 rounded-md bg-sunken p-2.5 font-mono text-xs">{text}</ScrolledText>
  );
}

interface Pieces {
  /** Null: there is nothing but the texts. */
  rest: string | null;
  texts: readonly (readonly [name: string, text: string])[];
}

/** Pure. Of an object, the fields whose text has several lines, and the rest as JSON. */
export function piecesOf(value: unknown): Pieces {
  if (typeof value === "string") return { rest: value, texts: [] };
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { rest: JSON.stringify(value, null, 2), texts: [] };
  }
  const fields = Object.entries(value);
  const texts = fields.filter((field): field is [string, string] => isLong(field[1]));
  const others = fields.filter(([, one]) => !isLong(one));
  const rest = others.length === 0 && texts.length > 0 ? null : Object.fromEntries(others);
  return { rest: rest === null ? null : JSON.stringify(rest, null, 2), texts };
}

function isLong(value: unknown): value is string {
  return typeof value === "string" && value.trimEnd().includes("\n");
}
