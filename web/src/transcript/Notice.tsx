// What the server told the conversation: quietly, long ones folded.

import { Info } from "lucide-react";
import { useState } from "react";
import type { Notice as NoticePart } from "@/api/schema";
import { texts } from "@/texts";
import { ChatLink, chatIn } from "@/tools/bodies/Agents";
import { textIn } from "@/tools/input";
import { Markdown } from "./markdown/Markdown";
import { WorkflowNotice } from "./WorkflowNotice";

const t = texts.transcript;
const LONG = 160;

function titleOf(part: NoticePart): string | null {
  const outcome = part.code === "agent" ? textIn(part.data, "outcome") : "";
  if (Object.hasOwn(t.agentEnds, outcome)) return t.agentEnds[outcome as keyof typeof t.agentEnds];
  if (!Object.hasOwn(t.notices, part.code)) return null;
  const title = t.notices[part.code as keyof typeof t.notices];
  return typeof title === "string" ? title : title(textIn(part.data, "mode"));
}

export function Notice({ part }: { part: NoticePart }) {
  const isRun = part.code === "workflow" && textIn(part.data, "run_id") !== "";
  return isRun ? <WorkflowNotice part={part} /> : <PlainNotice part={part} />;
}

function PlainNotice({ part }: { part: NoticePart }) {
  const [open, setOpen] = useState(false);
  const title = titleOf(part);
  const child = chatIn(part.data);
  const long = part.text.length > LONG || part.text.includes("\n");
  const folds = long || title !== null;
  return (
    <div className="my-1 rounded-md border border-line border-dashed px-3 py-1.5 text-soft text-sm">
      <p className="flex items-center gap-2">
        <Info aria-hidden className="size-4 shrink-0 text-faint" />
        <span className="min-w-0 flex-1 truncate">{title ?? part.text.split("\n", 1)[0]}</span>
        {child !== null && <ChatLink chatId={child}>{texts.tools.openAgent}</ChatLink>}
        {folds && (
          <button
            type="button"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
            className="shrink-0 text-accent-text text-xs underline-offset-2 hover:underline"
          >
            {open ? t.hide : t.show}
          </button>
        )}
      </p>
      {open && (
        <div className="mt-1">
          <Markdown text={part.text} />
        </div>
      )}
    </div>
  );
}
