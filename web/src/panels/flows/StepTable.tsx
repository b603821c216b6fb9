// The steps of a run as a table: for phones, for screen readers, and for reading.

import clsx from "clsx";
import type { FlowGraph, FlowStepShown } from "@/api/schema";
import { texts } from "@/texts";
import { duration } from "@/ui/format";
import { State } from "./State";

interface Props {
  graph: FlowGraph;
  steps: Readonly<Record<string, FlowStepShown>>;
  now: number;
  chosen: string | null;
  onChoose: (id: string) => void;
}

const t = texts.panels.flows;

export function StepTable({ graph, steps, now, chosen, onChoose }: Props) {
  return (
    <table className="w-full text-left text-sm">
      <caption className="sr-only">{t.steps}</caption>
      <thead className="text-faint text-xs">
        <tr>
          <th scope="col">{t.step}</th>
          <th scope="col">{t.state}</th>
          <th scope="col">{t.after}</th>
          <th scope="col" className="text-right">
            {t.took}
          </th>
        </tr>
      </thead>
      <tbody>
        {graph.steps.map(step => {
          const shown = steps[step.id];
          return (
            <tr key={step.id} className={clsx("border-line border-t", step.id === chosen && "bg-chosen")}>
              <th scope="row" className="py-1 font-normal">
                <button
                  type="button"
                  className="text-left underline-offset-2 hover:underline"
                  onClick={() => onChoose(step.id)}
                >
                  {step.title ?? step.id}
                </button>
                {step.batch !== null && <span className="ml-1 text-faint text-xs">{step.batch}</span>}
              </th>
              <td>
                <span className="flex items-center gap-1 text-xs">
                  <State state={shown?.state ?? "pending"} />
                  {shown?.reason === "excluded" ? t.excluded : t.states[shown?.state ?? "pending"]}
                </span>
              </td>
              <td className="text-faint text-xs">{step.deps.join(", ")}</td>
              <td className="tabular text-right text-faint text-xs">{took(shown, now)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

export function took(step: FlowStepShown | undefined, now: number): string {
  if (!step?.started_at || step.reused) return "";
  const end = step.finished_at ? Date.parse(step.finished_at) : now;
  return duration(Math.max(0, end - Date.parse(step.started_at)));
}
