// Flows: what there is to run, a form to start one, and runs as graphs that go on.

import { useChat } from "@/feed/hooks";
import type { PanelProps } from "@/panels/registry";
import { Library } from "./Library";
import { RunView } from "./RunView";
import { Start } from "./Start";
import { useFlowView } from "./view";

export default function FlowsPanel(_: PanelProps) {
  const view = useFlowView(state => state.view);
  const known = useChat(state => state.chat !== null);
  const workspaceId = useChat(state => state.chat?.workspace_id ?? null);
  if (!known) return null;
  switch (view.at) {
    case "library":
      return <Library workspaceId={workspaceId} />;
    case "flow":
      return <Start key={view.name} name={view.name} workspaceId={workspaceId} />;
    case "run":
      return <RunView key={view.id} id={view.id} />;
  }
}
