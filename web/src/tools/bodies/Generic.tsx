// Any call: what was given, what came back.

import { texts } from "@/texts";
import { fieldsOf, readable } from "../input";
import { Box, Output } from "../Output";
import { isOver } from "../state";
import type { BodyProps } from "./body";

const t = texts.tools;

export function Generic({ chatId, view }: BodyProps) {
  return (
    <div className="flex flex-col gap-2">
      <Input input={view.input} />
      {isOver(view.state) && (
        <Output chatId={chatId} callId={view.id} output={view.output} truncated={view.truncated} />
      )}
    </div>
  );
}

/** Every field of an input, texts as they are. */
export function Input({ input }: { input: unknown }) {
  const fields = Object.entries(fieldsOf(input));
  if (fields.length === 0) {
    const text = readable(input);
    const nothing = text === "" || text === "{}" || text === "null";
    return nothing ? <p className="text-faint text-xs">{t.noInput}</p> : <Box text={text} />;
  }
  return (
    <dl className="flex flex-col gap-1.5">
      {fields.map(([name, value]) => {
        const text = readable(value);
        const short = text.length <= 80 && !text.includes("\n");
        return (
          <div key={name} className={short ? "flex flex-wrap items-baseline gap-x-2" : ""}>
            <dt className="text-faint text-xs leading-5">{name}</dt>
            <dd className="min-w-0 flex-1">
              {short ? <code className="break-words font-mono text-xs">{text}</code> : <Box text={text} />}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}
