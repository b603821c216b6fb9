// A run that is watched while it is shown. One that is over is not watched any longer.

import { useEffect, useState } from "react";
import { Connection, type Link } from "@/feed/connection";
import { isOver, NO_RUN, type RunEvent, type RunState, reduceRun } from "./run";

export interface WatchedRun extends RunState {
  link: Link;
}

/** The caller is keyed by the run: another run is another component. */
export function useRun(id: string): WatchedRun {
  const [state, setState] = useState<WatchedRun>({ ...NO_RUN, link: "connecting" });
  useEffect(() => {
    let known: RunState = NO_RUN;
    const connection = new Connection({
      path: () => `/workflow-runs/${id}/feed`,
      onEvents: events => {
        known = (events as RunEvent[]).reduce(reduceRun, known);
        setState(before => ({ ...before, ...known }));
        if (known.caughtUp && isOver(known.run?.status)) connection.stop();
      },
      onLink: link => setState(before => ({ ...before, link })),
    });
    connection.start();
    return () => connection.stop();
  }, [id]);
  return state;
}
