// The list that opens above the composer: commands or files. The focus stays where one writes.

import clsx from "clsx";
import { useEffect } from "react";

export interface Suggestion {
  key: string;
  title: string;
  hint: string;
  choose: () => void;
}

interface Props {
  id: string;
  label: string;
  suggestions: readonly Suggestion[];
  at: number;
  /** What to say when there is none. */
  nothing: string;
}

export function Suggestions({ id, label, suggestions, at, nothing }: Props) {
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [id, at]);
  return (
    <div
      id={id}
      role="listbox"
      aria-label={label}
      className="absolute bottom-full left-0 z-20 mb-1 max-h-72 w-full max-w-md overflow-y-auto rounded-lg border bg-raised p-1 shadow-lift"
    >
      {suggestions.length === 0 && <p className="px-2 py-1.5 text-faint text-sm">{nothing}</p>}
      {suggestions.map((one, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are heard where one writes
        <div
          key={one.key}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          // Not on click: the focus must not leave the text.
          onMouseDown={event => event.preventDefault()}
          onClick={one.choose}
          className={clsx(
            "flex cursor-pointer items-baseline gap-2 rounded-md px-2 py-1.5 text-sm",
            index === at ? "bg-chosen" : "hover:bg-hover",
          )}
        >
          <span className="min-w-0 truncate">{one.title}</span>
          <span className="min-w-0 flex-1 truncate text-right text-faint text-xs">{one.hint}</span>
        </div>
      ))}
    </div>
  );
}
