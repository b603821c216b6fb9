// The state of a step or of a run: an icon with a name.

import clsx from "clsx";
import type { FlowRunData, FlowStepShown } from "@/api/schema";
import { texts } from "@/texts";
import { LOOKS } from "./look";

export function State({ state }: { state: FlowStepShown["state"] | FlowRunData["status"] }) {
  const { icon: Icon, color } = LOOKS[state];
  return (
    <Icon
      role="img"
      aria-label={texts.panels.flows.states[state]}
      className={clsx("size-4 shrink-0", color)}
    />
  );
}
