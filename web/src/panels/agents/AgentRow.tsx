// One sub-agent: a line that says how it goes; opened, its answer and what can be done with it; below it, those
// that it started.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import {
  ArrowRight,
  ChevronRight,
  CircleAlert,
  CircleCheck,
  CircleHelp,
  CircleStop,
  Clock,
  LoaderCircle,
  type LucideIcon,
  RotateCcw,
  Send,
} from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { textOf } from "@/api/problem";
import type { Chat } from "@/api/schema";
import { ChatFeedProvider, useChat } from "@/feed/hooks";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { duration, money, tokens } from "@/ui/format";
import { draw, toast } from "@/ui/view";
import { lastAnswer, messageAgent, retryAgent, stopAgent } from "./commands";
import { progressOf } from "./progress";
import { type AgentState, inOrder, isBusy, stateOf, workedMs } from "./state";
import { useAgents } from "./useAgents";

const t = texts.panels.agents;
const DEEPEST = 5;

export const LOOK: Record<AgentState, { icon: LucideIcon; color: string }> = {
  working: { icon: LoaderCircle, color: "text-accent-text animate-spin" },
  waiting: { icon: Clock, color: "text-soft" },
  needs_you: { icon: CircleHelp, color: "text-warn" },
  done: { icon: CircleCheck, color: "text-good" },
  stopped: { icon: CircleStop, color: "text-warn" },
  failed: { icon: CircleAlert, color: "text-bad" },
};

export function AgentRow({ agent, now, depth }: { agent: Chat; now: number; depth: number }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const state = stateOf(agent);
  const { icon: Icon, color } = LOOK[state];
  const said = agent.last_error?.message ?? agent.summary;
  return (
    <li>
      <button
        type="button"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
        className="flex w-full items-start gap-2 rounded-md px-2 py-1.5 text-left hover:bg-hover"
        style={{ paddingLeft: 8 + depth * 16 }}
      >
        <ChevronRight
          aria-hidden
          className={clsx("mt-0.5 size-4 shrink-0 text-faint transition-transform", open && "rotate-90")}
        />
        <Icon aria-hidden className={clsx("mt-0.5 size-4 shrink-0", color)} />
        <span className="min-w-0 flex-1">
          <span className="flex items-baseline gap-2">
            <span className="min-w-0 flex-1 truncate font-medium text-sm">
              {agent.title || texts.chats.untitled}
            </span>
            <span className="tabular shrink-0 text-faint text-xs">{duration(workedMs(agent, now))}</span>
          </span>
          <span className="tabular flex gap-2 text-soft text-xs">
            <span className="shrink-0">{t.states[state]}</span>
            <span className={clsx("min-w-0 flex-1 truncate", state === "failed" && "text-bad")}>{said}</span>
            {agent.usage.total > 0 && (
              <span className="shrink-0 text-faint">{texts.panels.tokens(tokens(agent.usage.total))}</span>
            )}
            {agent.usage.cost_usd_micros > 0 && (
              <span className="shrink-0 text-faint">{money(agent.usage.cost_usd_micros)}</span>
            )}
          </span>
        </span>
      </button>
      {open && (
        <div id={id} className="pr-2 pb-2" style={{ paddingLeft: 32 + depth * 16 }}>
          <Opened agent={agent} />
        </div>
      )}
      {depth < DEEPEST && <Below agent={agent} now={now} depth={depth + 1} />}
    </li>
  );
}

function Below({ agent, now, depth }: { agent: Chat; now: number; depth: number }) {
  const agents = useAgents(agent.id) ?? [];
  if (agents.length === 0) return null;
  return (
    <ul>
      {inOrder(agents).map(one => (
        <AgentRow key={one.id} agent={one} now={now} depth={depth} />
      ))}
    </ul>
  );
}

function Opened({ agent }: { agent: Chat }) {
  return (
    <div className="flex flex-col gap-2 rounded-md border border-line bg-raised p-2.5">
      {agent.last_error && <p className="break-words text-bad text-sm">{agent.last_error.message}</p>}
      {isBusy(agent) ? (
        <ChatFeedProvider chatId={agent.id}>
          <Working />
        </ChatFeedProvider>
      ) : (
        <Ended agent={agent} />
      )}
      <Commands agent={agent} />
    </div>
  );
}

/** As it speaks: one that is looked at has its feed open. */
function Working() {
  const said = useChat(state => progressOf(state).said);
  const doing = useChat(state => progressOf(state).doing);
  return (
    <>
      {doing && <p className="text-soft text-xs">{t.doing(doing)}</p>}
      <Said text={said} />
    </>
  );
}

function Ended({ agent }: { agent: Chat }) {
  const answer = useQuery({
    queryKey: ["answer", agent.id, agent.version],
    queryFn: ({ signal }) => lastAnswer(agent.id, signal),
  });
  return answer.isPending ? (
    <p className="text-faint text-sm">{texts.common.loading}</p>
  ) : (
    <Said text={answer.data ?? ""} />
  );
}

function Said({ text }: { text: string }) {
  if (text === "") return <p className="text-faint text-sm">{t.nothingSaid}</p>;
  return (
    <p
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="flex max-h-60 flex-col-reverse overflow-y-auto whitespace-pre-wrap break-words text-sm"
    >
      {text}
    </p>
  );
}

function Commands({ agent }: { agent: Chat }) {
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const [doing, setDoing] = useState(false);
  const busy = isBusy(agent);
  const perform = async (what: () => Promise<void>) => {
    setDoing(true);
    try {
      await what();
      await queries.invalidateQueries({ queryKey: ["children"] });
    } catch (error) {
      toast(textOf(error), "bad");
    } finally {
      setDoing(false);
    }
  };
  const send = () =>
    perform(async () => {
      await messageAgent(agent, text.trim());
      setText("");
    });
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={event => {
        event.preventDefault();
        if (text.trim() !== "") void send();
      }}
    >
      <textarea
        value={text}
        rows={1}
        aria-label={t.messageTo(agent.title)}
        placeholder={busy ? t.message : t.revive}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }}
        className="field-sizing-content max-h-32 min-h-8 resize-none rounded-md border border-line bg-canvas px-2 py-1 text-sm placeholder:text-faint"
      />
      <div className="flex flex-wrap gap-2">
        <Button small type="submit" icon={Send} disabled={doing || text.trim() === ""}>
          {busy ? t.send : t.sendRevive}
        </Button>
        {busy && (
          <Button
            small
            weight="danger"
            icon={CircleStop}
            disabled={doing}
            onClick={() => void perform(() => stopAgent(agent))}
          >
            {t.stop}
          </Button>
        )}
        {agent.status === "error" && (
          <Button
            small
            icon={RotateCcw}
            disabled={doing}
            onClick={() => void perform(() => retryAgent(agent))}
          >
            {t.retry}
          </Button>
        )}
        <span className="flex-1" />
        <ToChat agent={agent}>{t.open}</ToChat>
      </div>
    </form>
  );
}

function ToChat({ agent, children }: { agent: Chat; children: ReactNode }) {
  return (
    <Link
      to="/chats/$chatId"
      params={{ chatId: agent.id }}
      onClick={() => draw(null)}
      className="inline-flex h-7 items-center gap-1 rounded-md px-2 font-medium text-soft text-xs hover:bg-hover hover:text-text max-sm:min-h-10"
    >
      {children}
      <ArrowRight aria-hidden className="size-3.5" />
    </Link>
  );
}
