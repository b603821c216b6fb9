// A call in one line, with what it waits for below it; opened, what went in and what came out.

import clsx from "clsx";
import {
  Check,
  ChevronRight,
  CircleAlert,
  CircleSlash,
  Clock,
  LoaderCircle,
  ShieldQuestion,
  X,
} from "lucide-react";
import { memo, useState } from "react";
import { useSession } from "@/api/queries";
import type { Message } from "@/api/schema";
import { useChat } from "@/feed/hooks";
import { type AgentState, stateOf } from "@/panels/agents/state";
import { useAgents } from "@/panels/agents/useAgents";
import { texts } from "@/texts";
import type { Call } from "@/transcript/rows";
import { duration, moment } from "@/ui/format";
import { useTick } from "@/ui/tick";
import { Ask } from "./asks/Ask";
import { Uncertain } from "./asks/Uncertain";
import { ChatLink, chatIn } from "./bodies/Agents";
import { approvalText, Details } from "./Details";
import { fieldsOf } from "./input";
import { rendererOf } from "./registry";
import { type CallState, type CallView, elapsed, exitCode, isOver, viewOf } from "./state";
import { titleOf } from "./titles";

const t = texts.tools;
const STARTS_AGENTS = new Set(["spawn_agent", "spawn_subagent"]);

export const CallLine = memo(function CallLine({ chatId, call }: { chatId: string; call: Call }) {
  const result = useChat(state => state.results.get(call.call_id));
  const span = useChat(state => state.spans.get(`call-${call.call_id}`));
  const action = useChat(state => state.chat?.action ?? null);
  const status = useChat(state => state.chat?.status);
  return <CallShown chatId={chatId} view={viewOf(call, { result, span, action, status })} />;
});

/** Draws a call from what is known of it. */
export function CallShown({ chatId, view }: { chatId: string; view: CallView }) {
  const [chosen, setOpen] = useState<boolean | null>(null);
  // What somebody answered stays in sight.
  const open = chosen ?? (view.name === "ask_user" && view.state === "succeeded");
  const { icon: Icon } = rendererOf(view.name);
  const { what, on, code } = titleOf(view.name, view.input);
  const child = STARTS_AGENTS.has(view.name) ? chatIn(view.output) : null;
  return (
    <div data-testid="call" data-call={view.id} data-state={view.state}>
      <div className="flex items-center gap-1">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className={clsx(
            "group flex min-h-7 w-full min-w-0 items-center gap-2 rounded-md px-1.5 py-0.5 text-left text-sm hover:bg-hover",
            view.state === "uncertain" && "bg-bad-soft",
          )}
        >
          <Icon aria-hidden className="size-4 shrink-0 text-faint" />
          <span className="shrink-0 text-soft">{what}</span>
          <span className={clsx("min-w-0 flex-1 truncate", code ? "font-mono text-xs" : "text-soft")}>
            {on}
          </span>
          <Decided view={view} />
          <Took view={view} />
          <Outcome view={view} />
          <ChevronRight
            aria-hidden
            className={clsx("size-4 shrink-0 text-faint transition-transform", open && "rotate-90")}
          />
        </button>
        {child !== null && (
          <>
            <AgentEnd chatId={chatId} child={child} />
            <ChatLink chatId={child}>{t.openAgent}</ChatLink>
          </>
        )}
      </div>
      {open && <Details chatId={chatId} view={view} />}
      {view.ask !== null && <Ask ask={view.ask} />}
      {view.state === "uncertain" && <SayLater chatId={chatId} view={view} />}
    </div>
  );
}

/** How the agent that was started here is doing, or how it ended. */
function AgentEnd({ chatId, child }: { chatId: string; child: string }) {
  const agent = useAgents(chatId)?.find(one => one.id === child);
  if (agent === undefined) return null;
  const state = stateOf(agent);
  return (
    <span data-testid="agent-end" data-state={state} className={clsx("shrink-0 text-xs", END_LOOK[state])}>
      {texts.panels.agents.states[state]}
    </span>
  );
}

const END_LOOK: Record<AgentState, string> = {
  working: "text-accent-text",
  waiting: "text-soft",
  needs_you: "text-warn",
  done: "text-good",
  stopped: "text-warn",
  failed: "text-bad",
};

/** What a person said of it stays in sight. */
function Decided({ view }: { view: CallView }) {
  const me = useSession().data?.user.id;
  if (view.approval?.by !== "person") return null;
  return (
    <span className="hidden max-w-[40%] shrink-0 truncate text-faint text-xs sm:block">
      {approvalText(view.approval, view.state, me)}
    </span>
  );
}

function Took({ view }: { view: CallView }) {
  const now = useTick(view.state === "running");
  const took = elapsed(view, now);
  if (took === null || (isOver(view.state) && took < 50)) return null;
  return <span className="tabular shrink-0 text-faint text-xs">{duration(took)}</span>;
}

const LOOK: Record<CallState, { icon: typeof Check; look: string; says: boolean; spins?: boolean }> = {
  writing: { icon: LoaderCircle, look: "text-faint", says: false, spins: true },
  pending: { icon: Clock, look: "text-faint", says: false },
  running: { icon: LoaderCircle, look: "text-accent-text", says: false, spins: true },
  asking: { icon: ShieldQuestion, look: "text-warn", says: true },
  succeeded: { icon: Check, look: "text-good", says: false },
  failed: { icon: X, look: "text-bad", says: true },
  denied: { icon: CircleSlash, look: "text-warn", says: true },
  cancelled: { icon: CircleSlash, look: "text-faint", says: true },
  expired: { icon: Clock, look: "text-warn", says: true },
  uncertain: { icon: CircleAlert, look: "text-bad", says: true },
};

function Outcome({ view }: { view: CallView }) {
  const { icon: Icon, look, says, spins } = LOOK[view.state];
  const code = view.state === "failed" ? exitCode(view) : null;
  const word = code === null ? t.states[view.state] : t.exit(String(code));
  return (
    <span className={clsx("flex shrink-0 items-center gap-1 text-xs", look)}>
      <span className={says ? "" : "sr-only"}>{word}</span>
      <Icon aria-hidden className={clsx("size-4", spins && "animate-spin")} />
    </span>
  );
}

/** The model was told that nobody knows; a person may still say so, once. */
function SayLater({ chatId, view }: { chatId: string; view: CallView }) {
  const said = useChat(state =>
    state.messages.find(message => message.parts.some(part => isAbout(part, view.id))),
  );
  const archived = useChat(state => state.chat?.archived ?? false);
  if (said !== undefined) return <Told at={said.created_at} decision={decisionIn(said.parts, view.id)} />;
  if (archived) return null;
  return <Uncertain told ask={{ call_id: view.id, chat_id: chatId, name: view.name, input: view.input }} />;
}

/** What was decided stays with the call. */
function Told({ at, decision }: { at: string; decision: "retry" | "done" | "skip" | null }) {
  if (decision === null) return null;
  return <p className="px-1.5 pb-1 text-faint text-xs">{t.decided[decision](t.byYou, moment(at))}</p>;
}

function decisionIn(parts: Message["parts"], callId: string): "retry" | "done" | "skip" | null {
  const part = parts.find(one => isAbout(one, callId));
  const said = part?.type === "notice" ? fieldsOf(part.data).decision : null;
  return said === "retry" || said === "done" || said === "skip" ? said : null;
}

function isAbout(part: { type: string; code?: string; data?: unknown }, callId: string): boolean {
  if (part.type !== "notice" || part.code !== "uncertain_call") return false;
  return (part.data as { call_id?: unknown } | null)?.call_id === callId;
}
