// What a first visit offers to try, as messages for the demo model. See docs/reference/demo-model.md.

import { ListTree, type LucideIcon, Workflow, Wrench } from "lucide-react";
import { texts } from "@/texts";

export interface Try {
  id: string;
  title: string;
  text: string;
  icon: LucideIcon;
  content: string;
  /** The panel that shows most of it. */
  panel: string;
}

const t = texts.home.tries;

// Plain sentences that the demo model knows.
export const TRIES: readonly Try[] = [
  { id: "tool", ...t.tool, icon: Wrench, content: "Show me a tool call", panel: "trace" },
  { id: "agent", ...t.agent, icon: ListTree, content: "Start two sub-agents", panel: "agents" },
  { id: "workflow", ...t.workflow, icon: Workflow, content: "Run a workflow", panel: "workflow" },
];
