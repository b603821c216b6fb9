// Keys as they are printed on them: "mod+k" is ⌘K on a Mac and Ctrl+K elsewhere.

import clsx from "clsx";
import { keyNames } from "@/actions/keys";

export function Keys({ keys, onDark = false }: { keys: string; onDark?: boolean }) {
  return (
    <span className="inline-flex shrink-0 gap-0.5">
      {keyNames(keys).map(name => (
        <kbd
          key={name}
          className={clsx(
            "min-w-5 rounded px-1 text-center font-sans text-xs leading-5",
            onDark ? "bg-canvas/20" : "border border-line bg-sunken text-soft",
          )}
        >
          {name}
        </kbd>
      ))}
    </span>
  );
}
