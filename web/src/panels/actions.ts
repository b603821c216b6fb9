// An action for each panel, made from their registry.

import type { Action } from "@/actions/registry";
import { texts } from "@/texts";
import { prefer } from "@/ui/preferences";
import { draw, useView } from "@/ui/view";
import { PANELS } from "./registry";

/** Shows a panel, wherever there is room for it. */
export function openPanel(id: string): void {
  prefer({ panel: id, panelOpen: true });
  if (!useView.getState().wide) draw("panel");
}

export const panelActions: readonly Action[] = PANELS.map((panel, index) => ({
  id: `panel.${panel.id}`,
  title: texts.actions.openPanel(panel.title),
  section: "view",
  icon: panel.icon,
  keys: [`alt+${index + 1}`],
  when: ({ chat }) => chat !== null,
  run: () => openPanel(panel.id),
}));
