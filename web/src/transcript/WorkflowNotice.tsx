// A workflow that was started in the conversation: how far it is while it works, and what came of it.

import { ArrowUpRight } from "lucide-react";
import { useState } from "react";
import type { Notice as NoticePart } from "@/api/schema";
import { RunStatus } from "@/panels/workflow/RunStatus";
import { isOver, phasesOf } from "@/panels/workflow/run";
import { useRun } from "@/panels/workflow/useRun";
import { openRun } from "@/panels/workflow/view";
import { texts } from "@/texts";
import { fieldsOf, textIn } from "@/tools/input";
import { Markdown } from "./markdown/Markdown";

const t = texts.transcript.workflow;
const OUTCOMES = ["succeeded", "failed", "cancelled"] as const;

export function WorkflowNotice({ part }: { part: NoticePart }) {
  const runId = textIn(part.data, "run_id");
  const name = textIn(part.data, "name");
  const ended = OUTCOMES.find(outcome => outcome === textIn(part.data, "status"));
  return (
    <div
      data-testid="workflow-notice"
      className="my-1 rounded-md border border-line px-3 py-2 text-soft text-sm"
    >
      {ended === undefined ? (
        <Working key={runId} runId={runId} name={name} />
      ) : (
        <Ended runId={runId} name={name} outcome={ended} part={part} />
      )}
    </div>
  );
}

function Working({ runId, name }: { runId: string; name: string }) {
  const state = useRun(runId);
  const made = state.calls.length;
  const done = state.calls.filter(call => call.finished_at !== null).length;
  const phase = phasesOf(state).findLast(group => group.state === "now" && group.title !== "");
  const waits = state.calls.some(call => call.needs_you);
  const over = isOver(state.run?.status);
  return (
    <p className="flex items-center gap-2" aria-live="polite">
      {state.run && <RunStatus status={state.run.status} />}
      <span className="min-w-0 flex-1 truncate">
        <span className="font-medium text-text">{t.started(name)}</span>
        {phase && !over && <span> · {phase.title}</span>}
        {made > 0 && <span> · {t.agents(done, made)}</span>}
        {waits && <span className="text-attention"> · {t.needsYou}</span>}
      </span>
      <OpenRun runId={runId} />
    </p>
  );
}

interface EndedProps {
  runId: string;
  name: string;
  outcome: (typeof OUTCOMES)[number];
  part: NoticePart;
}

function Ended({ runId, name, outcome, part }: EndedProps) {
  const [open, setOpen] = useState(outcome === "failed");
  const agents = fieldsOf(part.data).agents;
  return (
    <>
      <p className="flex items-center gap-2">
        <RunStatus status={outcome} />
        <span className="min-w-0 flex-1 truncate">
          <span className="font-medium text-text">{t.ended[outcome](name)}</span>
          {typeof agents === "number" && <span> · {t.agentsAll(agents)}</span>}
        </span>
        {outcome !== "cancelled" && (
          <button
            type="button"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
            className="shrink-0 text-accent-text text-xs underline-offset-2 hover:underline"
          >
            {open ? texts.transcript.hide : t.result[outcome]}
          </button>
        )}
        <OpenRun runId={runId} />
      </p>
      {open && (
        <div className="mt-1">
          <Markdown text={part.text} />
        </div>
      )}
    </>
  );
}

function OpenRun({ runId }: { runId: string }) {
  return (
    <button
      type="button"
      onClick={() => openRun(runId)}
      className="inline-flex shrink-0 items-center gap-0.5 text-accent-text text-xs underline-offset-2 hover:underline"
    >
      {t.open}
      <ArrowUpRight aria-hidden className="size-3.5" />
    </button>
  );
}
