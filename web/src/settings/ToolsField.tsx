// Which tools an agent has: all of them, or those that are picked from the list.

import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { toolsQuery } from "@/api/queries";
import { texts } from "@/texts";

const t = texts.settings.agents;

interface Props {
  /** Null: all there are, also those that come later. */
  value: readonly string[] | null;
  onValue: (value: readonly string[] | null) => void;
}

export function ToolsField({ value, onValue }: Props) {
  const id = useId();
  const tools = useQuery(toolsQuery).data ?? [];
  const known = new Set(tools.map(tool => tool.name));
  // Tools that are not there now stay chosen until somebody takes them away.
  const offered = [
    ...tools.map(({ name, description }) => ({ name, description })),
    ...(value ?? []).filter(name => !known.has(name)).map(name => ({ name, description: t.toolMissing })),
  ];
  const toggle = (name: string) =>
    value !== null && onValue(value.includes(name) ? value.filter(one => one !== name) : [...value, name]);
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium text-sm">{t.tools}</legend>
      {[true, false].map(all => (
        <label key={String(all)} className="flex min-h-8 items-center gap-2 text-sm">
          <input
            type="radio"
            name={id}
            className="size-4 accent-accent"
            checked={(value === null) === all}
            onChange={() => onValue(all ? null : [])}
          />
          {all ? t.allTools : t.someTools(value?.length ?? null)}
        </label>
      ))}
      {value !== null && (
        <ul className="max-h-56 overflow-y-auto rounded-md border border-line">
          {offered.map(({ name, description }) => (
            <li key={name} className="border-line border-b last:border-b-0">
              <label className="flex items-start gap-2 px-2.5 py-1.5 hover:bg-hover">
                <input
                  type="checkbox"
                  className="mt-0.5 size-4 shrink-0 accent-accent"
                  checked={value.includes(name)}
                  onChange={() => toggle(name)}
                />
                <span className="min-w-0">
                  <span className="font-mono text-sm">{name}</span>
                  <span className="block truncate text-faint text-xs">{firstSentence(description)}</span>
                </span>
              </label>
            </li>
          ))}
        </ul>
      )}
    </fieldset>
  );
}

const firstSentence = (text: string): string => /^.*?[.:](?=\s|$)/s.exec(text)?.[0] ?? text;
