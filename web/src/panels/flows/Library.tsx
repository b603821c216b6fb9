// The flows that can be run here, and the runs there were.

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { CircleAlert, Network } from "lucide-react";
import { textOf } from "@/api/problem";
import type { FlowListed } from "@/api/schema";
import { Empty } from "@/panels/Empty";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { age } from "@/ui/format";
import { useNow } from "@/ui/now";
import { flowRunsQuery, flowsQuery } from "./queries";
import { State } from "./State";
import { showFlow } from "./view";

const t = texts.panels.flows;

export function Library({ workspaceId }: { workspaceId: string | null }) {
  const flows = useQuery(flowsQuery(workspaceId));
  if (flows.error) return <Empty icon={CircleAlert} title={t.unreadable} hint={textOf(flows.error)} />;
  if (flows.data === undefined) return <p className="p-4 text-faint text-sm">{texts.common.loading}</p>;
  const offered = flows.data.filter(one => one.hidden_by === null);
  if (offered.length === 0) return <Empty icon={Network} title={t.empty} hint={t.where} />;
  return (
    <div className="flex flex-col gap-4 p-3">
      <section aria-labelledby="flows" className="flex flex-col gap-1">
        <h2 id="flows" className="font-medium text-soft text-xs">
          {t.available}
        </h2>
        <ul className="flex flex-col gap-1">
          {offered.map(one => (
            <li key={`${one.source} ${one.path}`}>
              {one.error === null ? <Offered flow={one} /> : <BadFile flow={one} />}
            </li>
          ))}
        </ul>
        <p className="pt-1 text-faint text-xs">{t.where}</p>
      </section>
      <Runs />
    </div>
  );
}

function Offered({ flow }: { flow: FlowListed }) {
  return (
    <button
      type="button"
      onClick={() => showFlow({ at: "flow", name: flow.name })}
      className="flex w-full flex-col gap-0.5 rounded-md border border-line px-3 py-2 text-left hover:border-accent hover:bg-hover"
    >
      <span className="flex items-baseline gap-2">
        <span className="min-w-0 flex-1 truncate font-medium text-sm">{flow.name}</span>
        <span className="shrink-0 text-faint text-xs">{t.count(flow.steps)}</span>
        <span className="shrink-0 text-faint text-xs">{texts.panels.workflow.sources[flow.source]}</span>
      </span>
      <span className="text-pretty text-soft text-xs">{flow.description}</span>
    </button>
  );
}

function BadFile({ flow }: { flow: FlowListed }) {
  return (
    <div className="flex flex-col gap-0.5 rounded-md bg-bad-soft px-3 py-2">
      <span className="break-all font-mono text-xs">
        {[flow.path, flow.line, flow.column].filter(part => part !== null).join(":")}
      </span>
      <span className="text-bad text-xs">{flow.error}</span>
    </div>
  );
}

function Runs() {
  const runs = useInfiniteQuery(flowRunsQuery);
  const now = useNow();
  const items = runs.data?.pages.flatMap(page => page.items) ?? [];
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="flow-runs" className="flex flex-col gap-1">
      <h2 id="flow-runs" className="font-medium text-soft text-xs">
        {t.runs}
      </h2>
      <ul className="flex flex-col">
        {items.map(run => (
          <li key={run.id}>
            <button
              type="button"
              onClick={() => showFlow({ at: "run", id: run.id })}
              className="flex w-full items-center gap-2 rounded-md px-2 py-1.5 text-left text-sm hover:bg-hover"
            >
              <State state={run.status} />
              <span className="min-w-0 flex-1 truncate">{run.name}</span>
              <span className="tabular shrink-0 text-faint text-xs">{age(run.created_at, now)}</span>
            </button>
          </li>
        ))}
      </ul>
      {runs.hasNextPage && (
        <Button small busy={runs.isFetchingNextPage} onClick={() => void runs.fetchNextPage()}>
          {texts.common.more}
        </Button>
      )}
    </section>
  );
}
