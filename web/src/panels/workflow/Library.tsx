// The workflows that can be run here, and the runs there were.

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { CircleAlert, Workflow } from "lucide-react";
import { textOf } from "@/api/problem";
import type { RunListed, WorkflowListed } from "@/api/schema";
import { Empty } from "@/panels/Empty";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { age } from "@/ui/format";
import { useNow } from "@/ui/now";
import { runsQuery, workflowsQuery } from "./queries";
import { RunStatus } from "./RunStatus";
import { showWorkflow } from "./view";

const t = texts.panels.workflow;

export function Library({ workspaceId }: { workspaceId: string | null }) {
  const workflows = useQuery(workflowsQuery(workspaceId));
  if (workflows.error)
    return <Empty icon={CircleAlert} title={t.unreadable} hint={textOf(workflows.error)} />;
  if (workflows.data === undefined) return <p className="p-4 text-faint text-sm">{texts.common.loading}</p>;
  const offered = inOrder(workflows.data);
  if (offered.length === 0) return <Empty icon={Workflow} title={t.empty} hint={t.emptyHint} />;
  return (
    <div className="flex flex-col gap-4 p-3">
      <section aria-labelledby="workflows" className="flex flex-col gap-1">
        <h2 id="workflows" className="font-medium text-soft text-xs">
          {t.available}
        </h2>
        <ul className="flex flex-col gap-1">
          {offered.map(one => (
            <li key={`${one.source} ${one.path}`}>
              {one.error === null ? <Offered workflow={one} /> : <BadFile workflow={one} />}
            </li>
          ))}
        </ul>
        <p className="pt-1 text-faint text-xs">{t.where}</p>
      </section>
      <Runs />
    </div>
  );
}

const NEAREST_FIRST = ["project", "home", "catalogue"];

/** One's own first; what cannot be run last; what a nearer one hides not at all. */
function inOrder(workflows: readonly WorkflowListed[]): WorkflowListed[] {
  const rank = (one: WorkflowListed) => (one.error === null ? NEAREST_FIRST.indexOf(one.source) : 3);
  return workflows.filter(one => one.hidden_by === null).sort((one, other) => rank(one) - rank(other));
}

function Offered({ workflow }: { workflow: WorkflowListed }) {
  return (
    <button
      type="button"
      onClick={() => showWorkflow({ at: "workflow", name: workflow.name })}
      className="flex w-full flex-col gap-0.5 rounded-md border border-line px-3 py-2 text-left hover:border-accent hover:bg-hover"
    >
      <span className="flex items-baseline gap-2">
        <span className="min-w-0 flex-1 truncate font-medium text-sm">{workflow.name}</span>
        <span className="shrink-0 text-faint text-xs">{t.sources[workflow.source]}</span>
      </span>
      <span className="text-pretty text-soft text-xs">{workflow.description}</span>
    </button>
  );
}

function BadFile({ workflow }: { workflow: WorkflowListed }) {
  return (
    <div className="flex flex-col gap-0.5 rounded-md bg-bad-soft px-3 py-2">
      <span className="break-all font-mono text-xs">{workflow.path}</span>
      <span className="text-bad text-xs">{workflow.error}</span>
    </div>
  );
}

function Runs() {
  const runs = useInfiniteQuery(runsQuery);
  const now = useNow();
  const items = runs.data?.pages.flatMap(page => page.items) ?? [];
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="runs" className="flex flex-col gap-1">
      <h2 id="runs" className="font-medium text-soft text-xs">
        {t.runs}
      </h2>
      <ul className="flex flex-col">
        {items.map(run => (
          <li key={run.id}>
            <RunLine run={run} now={now} />
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

function RunLine({ run, now }: { run: RunListed; now: Date }) {
  return (
    <button
      type="button"
      onClick={() => showWorkflow({ at: "run", id: run.id })}
      className="flex w-full items-center gap-2 rounded-md px-2 py-1.5 text-left text-sm hover:bg-hover"
    >
      <RunStatus status={run.status} />
      <span className="min-w-0 flex-1 truncate">
        {run.name}
        {run.error && <span className="text-bad text-xs">{` ${run.error.message}`}</span>}
      </span>
      <span className="tabular shrink-0 text-faint text-xs">{age(run.created_at, now)}</span>
    </button>
  );
}
