// All actions, in the order in which the palette and the list of shortcuts show them.

import { panelActions } from "@/panels/actions";
import { chatActions } from "./chat";
import { general } from "./general";
import { moving } from "./moving";
import type { Action } from "./registry";

export const ACTIONS: readonly Action[] = [...general, ...moving, ...chatActions, ...panelActions];

const byId = new Map(ACTIONS.map(action => [action.id, action]));

export function actionOf(id: string): Action {
  const action = byId.get(id);
  if (action === undefined) throw new Error(`there is no action ${id}`);
  return action;
}
