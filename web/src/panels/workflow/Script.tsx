// The text of a script, with the numbers of its lines; the line of an error is marked.

import clsx from "clsx";
import { ChevronRight } from "lucide-react";
import { CopyButton } from "@/panels/CopyButton";
import { texts } from "@/texts";

export function Script({ text, line }: { text: string; line?: number | null }) {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <details className="group rounded-md border border-line">
      <summary className="flex list-none items-center gap-1.5 px-2 py-1.5 font-medium text-sm">
        <ChevronRight aria-hidden className="size-4 text-faint transition-transform group-open:rotate-90" />
        {texts.panels.workflow.script}
      </summary>
      <div className="relative border-line border-t">
        <div className="absolute top-1 right-1">
          <CopyButton text={text} />
        </div>
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          tabIndex={0}
          className="max-h-[60vh] overflow-auto bg-sunken py-2 font-mono text-xs leading-5"
        >
          {lines.map((one, index) => (
            <span
              // biome-ignore lint/suspicious/noArrayIndexKey: a line's number is its name
              key={index}
              className={clsx("flex pr-10", index + 1 === line && "bg-bad-soft")}
            >
              <span aria-hidden className="tabular w-10 shrink-0 select-none pr-3 text-right text-faint">
                {index + 1}
              </span>
              <code>{one || " "}</code>
            </span>
          ))}
        </pre>
      </div>
    </details>
  );
}
