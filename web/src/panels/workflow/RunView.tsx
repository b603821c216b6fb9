// One run as it goes: phases and agents, budget, log, result; cancel, and run again.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { ArrowLeft, ChevronDown, CircleStop, RotateCcw } from "lucide-react";
import { type ReactNode, useState } from "react";
import { call, newKey } from "@/api/client";
import { textOf } from "@/api/problem";
import type { RunData } from "@/api/schema";
import { Value } from "@/panels/Value";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { duration, tokens } from "@/ui/format";
import { Menu, MenuItem } from "@/ui/Menu";
import { useTick } from "@/ui/tick";
import { toast } from "@/ui/view";
import { Phases } from "./Phases";
import { RunStatus } from "./RunStatus";
import { isOver, reusedOf } from "./run";
import { Script } from "./Script";
import { useRun, type WatchedRun } from "./useRun";
import { showWorkflow } from "./view";

const t = texts.panels.workflow;

export function RunView({ id }: { id: string }) {
  const state = useRun(id);
  const { run } = state;
  const now = useTick(run !== null && !isOver(run.status));
  return (
    <div className="flex flex-col">
      <header className="flex min-h-11 shrink-0 flex-wrap items-center gap-2 border-line border-b py-1.5 pr-3 pl-2">
        <IconButton icon={ArrowLeft} label={t.back} onClick={() => showWorkflow({ at: "library" })} />
        {run && <RunStatus status={run.status} />}
        <h2 className="min-w-0 flex-1 truncate font-medium text-sm">{run?.name ?? texts.common.loading}</h2>
        {run && <Commands run={run} />}
      </header>
      {state.link === "gone" && run === null && <p className="p-3 text-soft text-sm">{t.gone}</p>}
      {run && (
        <div className="flex flex-col gap-4 p-3">
          <Facts state={state} run={run} now={now} />
          {run.error && (
            <p role="alert" className="break-words rounded-md bg-bad-soft px-3 py-2 text-bad text-sm">
              {run.error.message}
              {run.error.line !== null && <span className="block text-xs">{t.atLine(run.error.line)}</span>}
            </p>
          )}
          <Phases state={state} now={now} />
          {run.status === "succeeded" && <Value title={t.result} value={run.result} />}
          <Log state={state} />
          <Value title={t.arguments} value={run.args} />
          <RunScript run={run} />
        </div>
      )}
    </div>
  );
}

function Commands({ run }: { run: RunData }) {
  const queries = useQueryClient();
  const [doing, setDoing] = useState(false);
  const perform = async (what: () => Promise<void>) => {
    setDoing(true);
    try {
      await what();
      await queries.invalidateQueries({ queryKey: ["runs"] });
    } catch (error) {
      toast(textOf(error), "bad");
    } finally {
      setDoing(false);
    }
  };
  const cancel = () =>
    perform(async () => {
      await call("POST /workflow-runs/{run_id}/cancel", { path: { run_id: run.id } });
    });
  const again = (fresh: boolean) =>
    perform(async () => {
      const body = { resume_from: run.id, fresh };
      const started = await call("POST /workflow-runs", { body, once: newKey() });
      showWorkflow({ at: "run", id: started.id });
    });
  if (!isOver(run.status)) {
    return (
      <Button small weight="danger" icon={CircleStop} busy={doing} onClick={() => void cancel()}>
        {t.cancel}
      </Button>
    );
  }
  return (
    <span className="flex">
      <Button
        small
        icon={RotateCcw}
        busy={doing}
        className="rounded-r-none"
        onClick={() => void again(false)}
      >
        {t.again}
      </Button>
      <Menu
        trigger={
          <button
            type="button"
            aria-label={t.againHow}
            disabled={doing}
            className="flex h-7 items-center rounded-r-md border border-line border-l-0 px-1.5 hover:bg-hover"
          >
            <ChevronDown aria-hidden className="size-3.5" />
          </button>
        }
      >
        <MenuItem hint={t.againHint} onSelect={() => void again(false)}>
          {t.again}
        </MenuItem>
        <MenuItem hint={t.againFreshHint} onSelect={() => void again(true)}>
          {t.againFresh}
        </MenuItem>
        <MenuItem
          hint={t.changeHint}
          onSelect={() => showWorkflow({ at: "workflow", name: run.name, args: run.args })}
        >
          {t.change}
        </MenuItem>
      </Menu>
    </span>
  );
}

function Facts({ state, run, now }: { state: WatchedRun; run: RunData; now: number }) {
  const reused = reusedOf(state);
  const started = run.started_at;
  const end = run.finished_at === null ? now : Date.parse(run.finished_at);
  return (
    <div className="tabular flex flex-col gap-2 text-soft text-xs">
      <p className="flex flex-wrap gap-x-3 gap-y-1">
        <span>{run.status === "pending" ? t.waits : (texts.panels.outcomes[run.status] ?? run.status)}</span>
        {started && <span>{duration(Math.max(0, end - Date.parse(started)))}</span>}
        {state.calls.length > 0 && <span>{t.calls(state.calls.length)}</span>}
        {reused > 0 && <span className="text-accent-text">{t.reusedOf(reused, state.calls.length)}</span>}
        {state.link === "reconnecting" && !isOver(run.status) && (
          <span className="text-warn">{texts.shell.reconnecting}</span>
        )}
      </p>
      {run.reuse && <p>{run.reuse}</p>}
      {run.resumed_from && (
        <p>
          <button
            type="button"
            className="text-accent-text underline underline-offset-2"
            onClick={() => showWorkflow({ at: "run", id: run.resumed_from ?? "" })}
          >
            {t.resumedFrom}
          </button>
        </p>
      )}
      <BudgetBar state={state} />
    </div>
  );
}

function BudgetBar({ state }: { state: WatchedRun }) {
  const { budget } = state;
  if (budget === null || (budget.tokens === null && budget.spent_tokens === 0)) return null;
  if (budget.tokens === null) return <p>{t.spent(tokens(budget.spent_tokens))}</p>;
  const share = Math.min(1, budget.spent_tokens / budget.tokens);
  const told = t.spentOf(tokens(budget.spent_tokens), tokens(budget.tokens));
  return (
    <div className="flex items-center gap-2">
      <div aria-hidden className="h-1.5 flex-1 overflow-hidden rounded-full bg-chosen">
        <div
          className={clsx("h-full", share < 0.8 ? "bg-accent" : share < 1 ? "bg-warn" : "bg-bad")}
          style={{ width: `${share * 100}%` }}
        />
      </div>
      <span>{told}</span>
    </div>
  );
}

function Log({ state }: { state: WatchedRun }) {
  if (state.log.length === 0) return null;
  return (
    <Section title={t.log}>
      <ol
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="max-h-60 overflow-y-auto rounded-md bg-sunken p-2.5 font-mono text-xs"
      >
        {state.log.map(line => (
          <li
            key={line.number}
            className={clsx("whitespace-pre-wrap break-words", line.kind === "warning" && "text-warn")}
          >
            {line.text}
          </li>
        ))}
      </ol>
    </Section>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-1">
      <h3 className="font-medium text-soft text-xs">{title}</h3>
      {children}
    </section>
  );
}

/** As it was pinned when the run began, whatever became of the workflow since. */
function RunScript({ run }: { run: RunData }) {
  const script = useQuery({
    queryKey: ["run-script", run.id],
    queryFn: async ({ signal }) =>
      (await call("GET /workflow-runs/{run_id}", { path: { run_id: run.id }, signal })).script,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return script.data ? (
    <Script text={script.data} language={run.language} line={run.error?.line ?? null} />
  ) : null;
}
