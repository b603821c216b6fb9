// One run of a flow as it goes: its graph or its table, the chosen step, log and result; cancel and run again.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { ArrowLeft, CircleStop, Download, RotateCcw } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { call, newKey, PREFIX } from "@/api/client";
import { textOf } from "@/api/problem";
import type { FlowGraph, FlowRunData } from "@/api/schema";
import { Value } from "@/panels/Value";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { duration } from "@/ui/format";
import { useTick } from "@/ui/tick";
import { toast } from "@/ui/view";
import { isOver } from "./flowRun";
import { flowGraphQuery } from "./queries";
import { State } from "./State";
import { StepDetails } from "./StepDetails";
import { StepTable } from "./StepTable";
import { useFlowRun, type WatchedFlowRun } from "./useFlowRun";
import { showFlow } from "./view";

const Graph = lazy(() => import("./Graph"));
const t = texts.panels.flows;
const NARROW = "(max-width: 640px)";

export function RunView({ id }: { id: string }) {
  const state = useFlowRun(id);
  const graph = useQuery(flowGraphQuery(id));
  const { run } = state;
  return (
    <div className="flex flex-col">
      <header className="flex min-h-11 shrink-0 flex-wrap items-center gap-2 border-line border-b py-1.5 pr-3 pl-2">
        <IconButton icon={ArrowLeft} label={t.back} onClick={() => showFlow({ at: "library" })} />
        {run && <State state={run.status} />}
        <h2 className="min-w-0 flex-1 truncate font-medium text-sm">{run?.name ?? texts.common.loading}</h2>
        {run && <Commands run={run} onAgain={state.again} />}
      </header>
      {state.link === "gone" && run === null && <p className="p-3 text-soft text-sm">{t.gone}</p>}
      {run && graph.data && <Shown state={state} run={run} graph={graph.data} />}
    </div>
  );
}

function Shown({ state, run, graph }: { state: WatchedFlowRun; run: FlowRunData; graph: FlowGraph }) {
  const now = useTick(!isOver(run.status));
  const [asTable, setAsTable] = useState(() => window.matchMedia(NARROW).matches);
  const [picked, setPicked] = useState<string | null>(null);
  const waiting = graph.steps.find(step => state.steps[step.id]?.needs_you && step.kind === "approval");
  const chosen = picked ?? waiting?.id ?? null;
  const step = graph.steps.find(one => one.id === chosen);
  const shown = chosen === null ? undefined : state.steps[chosen];
  const end = run.finished_at === null ? now : Date.parse(run.finished_at);
  return (
    <div className="flex flex-col gap-3 p-3">
      <p className="tabular flex flex-wrap gap-x-3 gap-y-1 text-soft text-xs">
        <span>{t.states[run.status]}</span>
        {run.started_at && <span>{duration(Math.max(0, end - Date.parse(run.started_at)))}</span>}
        <span>{t.count(graph.steps.length)}</span>
        {run.reuse && <span>{run.reuse}</span>}
      </p>
      {run.error && (
        <p role="alert" className="break-words rounded-md bg-bad-soft px-3 py-2 text-bad text-sm">
          {run.error.message}
        </p>
      )}
      <div className="flex justify-end">
        <Button small weight="quiet" onClick={() => setAsTable(!asTable)}>
          {asTable ? t.asGraph : t.asTable}
        </Button>
      </div>
      {asTable ? (
        <StepTable graph={graph} steps={state.steps} now={now} chosen={chosen} onChoose={setPicked} />
      ) : (
        <Suspense fallback={<p className="p-4 text-faint text-sm">{texts.common.loading}</p>}>
          <Graph graph={graph} steps={state.steps} chosen={chosen} onChoose={setPicked} />
        </Suspense>
      )}
      {step && shown && <StepDetails run={run} step={step} shown={shown} onAgain={state.again} />}
      {run.result !== null && <Value title={t.result} value={run.result} />}
      {graph.output !== null && run.status === "succeeded" && (
        <a
          className="flex items-center gap-1 text-accent-text text-sm underline underline-offset-2"
          href={`${PREFIX}/flow-runs/${run.id}/output`}
          download={graph.output}
        >
          <Download aria-hidden className="size-4" />
          {graph.output}
        </a>
      )}
      {state.log.length > 0 && (
        <section className="flex flex-col gap-1">
          <h3 className="font-medium text-soft text-xs">{t.log}</h3>
          <ol className="rounded-md bg-sunken p-2.5 font-mono text-xs">
            {state.log.map(line => (
              <li
                key={line.number}
                className={clsx("whitespace-pre-wrap break-words", line.kind === "warning" && "text-warn")}
              >
                {line.text}
              </li>
            ))}
          </ol>
        </section>
      )}
    </div>
  );
}

function Commands({ run, onAgain }: { run: FlowRunData; onAgain: () => void }) {
  const queries = useQueryClient();
  const [doing, setDoing] = useState(false);
  const perform = async (what: () => Promise<void>) => {
    setDoing(true);
    try {
      await what();
      await queries.invalidateQueries({ queryKey: ["flow-runs"] });
    } catch (error) {
      toast(textOf(error), "bad");
    } finally {
      setDoing(false);
    }
  };
  const path = { flow_run_id: run.id };
  const cancel = () =>
    perform(async () => {
      await call("POST /flow-runs/{flow_run_id}/cancel", { path });
    });
  const retry = () =>
    perform(async () => {
      await call("POST /flow-runs/{flow_run_id}/retry", { path, body: {}, once: newKey() });
      onAgain();
    });
  const again = () =>
    perform(async () => {
      const started = await call("POST /flow-runs", { body: { resume_from: run.id }, once: newKey() });
      showFlow({ at: "run", id: started.id });
    });
  if (!isOver(run.status)) {
    return (
      <Button small weight="danger" icon={CircleStop} busy={doing} onClick={() => void cancel()}>
        {t.cancel}
      </Button>
    );
  }
  return run.status === "succeeded" ? (
    <Button small icon={RotateCcw} busy={doing} onClick={() => void again()}>
      {t.again}
    </Button>
  ) : (
    <Button small icon={RotateCcw} busy={doing} onClick={() => void retry()}>
      {t.retryAll}
    </Button>
  );
}
