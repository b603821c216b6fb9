// What a model thought, folded, with how long it took and what it was about.

import clsx from "clsx";
import { Brain, ChevronRight } from "lucide-react";
import { memo, useState } from "react";
import type { Reasoning as ReasoningPart } from "@/api/schema";
import { texts } from "@/texts";
import { duration } from "@/ui/format";
import { useTick } from "@/ui/tick";
import { Markdown } from "./markdown/Markdown";
import { reasoningTitle } from "./reasoningTitle";

const t = texts.transcript;
/** Shorter than this is not worth a number. */
const SHORT_MS = 100;

export const Reasoning = memo(function Reasoning({ part, live }: { part: ReasoningPart; live: boolean }) {
  const [open, setOpen] = useState(false);
  const now = useTick(live);
  const started = part.started_at === null ? null : Date.parse(part.started_at);
  const ended = live ? now : part.finished_at === null ? null : Date.parse(part.finished_at);
  const span = started === null || ended === null ? 0 : ended - started;
  const took = span < SHORT_MS ? null : duration(span);
  return (
    <div>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex min-h-7 w-full items-center gap-2 rounded-md px-1.5 py-0.5 text-left text-soft text-sm hover:bg-hover"
      >
        <Brain aria-hidden className={clsx("size-4 shrink-0 text-faint", live && "animate-pulse")} />
        <span className="shrink-0">{live ? t.thinking(took) : t.thought(took)}</span>
        <span className="min-w-0 flex-1 truncate text-faint">{reasoningTitle(part)}</span>
        <ChevronRight
          aria-hidden
          className={clsx("size-4 shrink-0 text-faint transition-transform", open && "rotate-90")}
        />
      </button>
      {open && (
        <div className="ml-3.5 border-l-2 py-1 pl-3 text-soft text-sm">
          <Markdown text={part.text} live={live} />
        </div>
      )}
    </div>
  );
});
