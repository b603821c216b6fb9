// What the flows panel shows: what there is to run, one flow to be started, or one run. Kept for the browser's
// tab, so that a look at another panel, or a reload, loses nothing.

import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";
import { openPanel } from "@/panels/actions";

export type FlowView = { at: "library" } | { at: "flow"; name: string } | { at: "run"; id: string };

export const useFlowView = create<{ view: FlowView }>()(
  persist((): { view: FlowView } => ({ view: { at: "library" } }), {
    name: "holdfast.flows",
    storage: createJSONStorage(() => sessionStorage),
  }),
);

export function showFlow(view: FlowView): void {
  useFlowView.setState({ view });
}

/** From elsewhere on the page. */
export function openFlowRun(id: string): void {
  showFlow({ at: "run", id });
  openPanel("flows");
}
