// Where the steps are drawn. Elk computes it in a worker of its own: a thousand steps take it a while.

import ELK from "elkjs/lib/elk-api.js";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import { useEffect, useMemo, useState } from "react";
import type { FlowGraph } from "@/api/schema";
import { elkGraphOf, type Placed, plainLayout } from "./layout";

export function useLayout(graph: FlowGraph): readonly Placed[] {
  const plain = useMemo(() => plainLayout(graph), [graph]);
  const [found, setFound] = useState<readonly Placed[] | null>(null);
  useEffect(() => {
    let wanted = true;
    const worker = new Worker(workerUrl);
    const elk = new ELK({ workerFactory: () => worker });
    setFound(null);
    elk.layout(elkGraphOf(graph)).then(
      laid => {
        if (wanted) setFound((laid.children ?? []).map(({ id, x, y }) => ({ id, x: x ?? 0, y: y ?? 0 })));
      },
      () => undefined, // the plain layout stays
    );
    return () => {
      wanted = false;
      worker.terminate();
    };
  }, [graph]);
  return found ?? plain;
}
