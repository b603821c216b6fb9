// The phases of a run with their agents: who works, who is done, what came from an earlier run.

import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { Check, CircleDashed, LoaderCircle } from "lucide-react";
import type { CallShown } from "@/api/schema";
import { texts } from "@/texts";
import { duration, tokens } from "@/ui/format";
import { draw } from "@/ui/view";
import { RunStatus } from "./RunStatus";
import { type PhaseGroup, phasesOf, type RunState } from "./run";

const t = texts.panels.workflow;

const MARKS = {
  coming: { icon: CircleDashed, color: "text-faint" },
  now: { icon: LoaderCircle, color: "animate-spin text-accent-text" },
  over: { icon: Check, color: "text-good" },
};

export function Phases({ state, now }: { state: RunState; now: number }) {
  return (
    <ol aria-label={t.phases} className="flex flex-col gap-3">
      {phasesOf(state).map(phase => (
        <li key={phase.title}>
          <PhaseHead phase={phase} />
          {phase.calls.length > 0 && (
            <ul className="mt-1 ml-2 border-line border-l pl-2">
              {phase.calls.map(call => (
                <Call key={call.id} call={call} now={now} />
              ))}
            </ul>
          )}
        </li>
      ))}
    </ol>
  );
}

function PhaseHead({ phase }: { phase: PhaseGroup }) {
  const { icon: Icon, color } = MARKS[phase.state];
  return (
    <div className="flex items-center gap-2 text-sm">
      <Icon role="img" aria-label={t.phaseStates[phase.state]} className={clsx("size-4 shrink-0", color)} />
      <span className={clsx("shrink-0", phase.state === "coming" ? "text-faint" : "font-medium")}>
        {phase.title || t.noPhase}
      </span>
      <span className="min-w-0 flex-1 truncate text-faint text-xs">{phase.detail}</span>
      {phase.calls.length > 0 && (
        <span className="tabular shrink-0 text-faint text-xs">{t.done(phase.done, phase.calls.length)}</span>
      )}
    </div>
  );
}

function Call({ call, now }: { call: CallShown; now: number }) {
  const { started_at: started, finished_at: finished } = call;
  const label = call.label || t.kinds[call.kind];
  return (
    // Hundreds of agents are nothing special: what is out of sight is not laid out.
    <li className="rounded-md px-2 py-1 [contain-intrinsic-size:auto_28px] [content-visibility:auto]">
      <div className="flex items-center gap-2 text-sm">
        <RunStatus status={call.status} />
        {call.chat_id === null ? (
          <span className="min-w-0 flex-1 truncate">{label}</span>
        ) : (
          <Link
            to="/chats/$chatId"
            params={{ chatId: call.chat_id }}
            onClick={() => draw(null)}
            className="min-w-0 flex-1 truncate underline-offset-2 hover:underline"
          >
            {label}
          </Link>
        )}
        {call.needs_you && (
          <span className="shrink-0 rounded-full bg-warn-soft px-1.5 text-warn text-xs">
            {texts.chats.needsYou}
          </span>
        )}
        {call.reused && (
          <span className="shrink-0 rounded-full bg-accent-soft px-1.5 text-accent-text text-xs">
            {t.reused}
          </span>
        )}
        {call.usage && call.usage.total > 0 && (
          <span className="tabular shrink-0 text-faint text-xs">
            {texts.panels.tokens(tokens(call.usage.total))}
          </span>
        )}
        {started && !call.reused && (
          <span className="tabular shrink-0 text-faint text-xs">
            {duration(Math.max(0, (finished ? Date.parse(finished) : now) - Date.parse(started)))}
          </span>
        )}
      </div>
      {call.error && <p className="break-words pl-6 text-bad text-xs">{call.error}</p>}
    </li>
  );
}
