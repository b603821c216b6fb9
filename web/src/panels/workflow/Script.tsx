// The text of a script, with colours and the numbers of its lines; the line of an error is marked.

import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { NumberedLines } from "@/code/NumberedLines";
import { CopyButton } from "@/panels/CopyButton";
import { texts } from "@/texts";

const t = texts.panels.workflow;

interface Props {
  text: string;
  language: string;
  line?: number | null;
}

export function Script({ text, language, line = null }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <details
      className="group rounded-md border border-line"
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary className="flex list-none items-center gap-1.5 px-2 py-1.5 font-medium text-sm">
        <ChevronRight aria-hidden className="size-4 text-faint transition-transform group-open:rotate-90" />
        {t.script}
      </summary>
      {open && (
        <div className="relative border-line border-t">
          <div className="absolute top-1 right-3 z-10">
            <CopyButton text={text} />
          </div>
          <NumberedLines
            text={text}
            language={language}
            label={t.script}
            line={line}
            look="bad"
            className="max-h-[60vh]"
          />
        </div>
      )}
    </details>
  );
}
