// A flow's run as its feed tells it: (state, event) -> state, pure. Being told something twice changes nothing.

import type { FlowLineShown, FlowRunData, FlowRunFeedEvent, FlowStepShown } from "@/api/schema";

export interface FlowRunState {
  run: FlowRunData | null;
  /** By id; their order is the graph's. */
  steps: Readonly<Record<string, FlowStepShown>>;
  log: readonly FlowLineShown[];
  caughtUp: boolean;
}

export const NO_FLOW_RUN: FlowRunState = { run: null, steps: {}, log: [], caughtUp: false };

export function reduceFlowRun(state: FlowRunState, event: FlowRunFeedEvent): FlowRunState {
  switch (event.event) {
    case "run":
      return { ...state, run: event.data };
    case "step":
      return { ...state, steps: { ...state.steps, [event.data.id]: event.data } };
    case "log":
      return state.log.some(line => line.number === event.data.number)
        ? state
        : { ...state, log: [...state.log, event.data] };
    case "caught_up":
      return { ...state, caughtUp: true };
    case "closing":
      return state;
  }
}

type Status = FlowRunData["status"];
const OVER: readonly Status[] = ["succeeded", "failed", "timed_out", "cancelled"];

export function isOver(status: Status | undefined): boolean {
  return status !== undefined && OVER.includes(status);
}

/** What a person may run again. */
export function mayRetry(run: FlowRunData, step: FlowStepShown): boolean {
  const broken = ["failed", "timed_out", "upstream_failed", "cancelled", "skipped"];
  return isOver(run.status) && broken.includes(step.state);
}
