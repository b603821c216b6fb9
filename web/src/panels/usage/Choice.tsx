// One of a few, side by side.

import clsx from "clsx";

interface Props<T> {
  label: string;
  value: T;
  choices: readonly { value: T; title: string }[];
  onChoose: (value: T) => void;
}

export function Choice<T extends string | number>({ label, value, choices, onChoose }: Props<T>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for what is sent
    <div role="group" aria-label={label} className="flex overflow-hidden rounded-md border border-line">
      {choices.map(choice => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onChoose(choice.value)}
          className={clsx(
            "h-7 border-line px-2 text-xs not-first:border-l",
            choice.value === value ? "bg-chosen font-medium" : "text-soft hover:bg-hover",
          )}
        >
          {choice.title}
        </button>
      ))}
    </div>
  );
}
