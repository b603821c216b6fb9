// A flow's run that is watched while it is shown. A run that is over may go on again, when somebody runs failed
// steps again: `again` watches it anew.

import { useEffect, useState } from "react";
import type { FlowRunFeedEvent } from "@/api/schema";
import { Connection, type Link } from "@/feed/connection";
import { type FlowRunState, isOver, NO_FLOW_RUN, reduceFlowRun } from "./flowRun";

export interface WatchedFlowRun extends FlowRunState {
  link: Link;
  again: () => void;
}

export function useFlowRun(id: string): WatchedFlowRun {
  const [state, setState] = useState<FlowRunState & { link: Link }>({ ...NO_FLOW_RUN, link: "connecting" });
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another round is another connection
  useEffect(() => {
    let known: FlowRunState = NO_FLOW_RUN;
    const connection = new Connection({
      path: () => `/flow-runs/${id}/feed`,
      onEvents: events => {
        known = (events as FlowRunFeedEvent[]).reduce(reduceFlowRun, known);
        setState(before => ({ ...before, ...known }));
        if (known.caughtUp && isOver(known.run?.status)) connection.stop();
      },
      onLink: link => setState(before => ({ ...before, link })),
    });
    connection.start();
    return () => connection.stop();
  }, [id, round]);
  return { ...state, again: () => setRound(before => before + 1) };
}
