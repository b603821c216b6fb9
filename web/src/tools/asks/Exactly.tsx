// The input of a call that is about to run, in full.

import { fieldsOf, readable } from "../input";

export function Exactly({ name, input }: { name: string; input: unknown }) {
  const fields = Object.entries(fieldsOf(input));
  const shown = fields.length === 0 ? [[name, input] as const] : fields;
  return (
    <dl className="flex flex-col gap-1.5">
      {shown.map(([field, value]) =>
        isPlain(value) ? (
          <div key={field} className="flex items-baseline gap-2">
            <dt className="text-faint text-xs">{field}</dt>
            <dd className="font-mono text-xs">{String(value)}</dd>
          </div>
        ) : (
          <div key={field}>
            <dt className="text-faint text-xs">{field}</dt>
            <dd>
              <pre
                // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
                tabIndex={0}
                className="max-h-64 overflow-auto whitespace-pre-wrap break-words rounded-md border bg-sunken px-3 py-1.5 font-mono text-xs leading-5"
              >
                {visible(readable(value))}
              </pre>
            </dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** A number or a yes or no needs no box. */
const isPlain = (value: unknown): boolean => typeof value === "number" || typeof value === "boolean";

/** Signs that turn or hide text are shown as what they are: what is approved is what was seen. */
export function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are looked for
    /[\u0000-\u0008\u000b-\u001f\u007f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
