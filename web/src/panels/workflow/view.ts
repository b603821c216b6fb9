// What the workflow panel shows: what there is to run, one workflow to be started, or one run. Kept for the
// browser's tab, so that a look at another panel, or a reload, loses nothing.

import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";
import { openPanel } from "@/panels/actions";

export type View =
  | { at: "library" }
  /** With the arguments of a run that is to be changed. */
  | { at: "workflow"; name: string; args?: unknown }
  | { at: "run"; id: string };

export const useWorkflowView = create<{ view: View }>()(
  persist((): { view: View } => ({ view: { at: "library" } }), {
    name: "holdfast.workflow",
    storage: createJSONStorage(() => sessionStorage),
  }),
);

export function showWorkflow(view: View): void {
  useWorkflowView.setState({ view });
}

/** From elsewhere on the page. */
export function openRun(id: string): void {
  showWorkflow({ at: "run", id });
  openPanel("workflow");
}
