// Slash commands: the actions of the chat, its models and efforts, and panels that are opened by name.

import { useMemo } from "react";
import { actionOf } from "@/actions/all";
import { useActionContext } from "@/actions/hooks";
import { isOffered, perform, titleOf } from "@/actions/registry";
import { useModels } from "@/api/queries";
import type { Chat } from "@/api/schema";
import { openPanel } from "@/panels/actions";
import { PANELS } from "@/panels/registry";
import { texts } from "@/texts";
import type { Choice } from "./Pickers";
import type { Command } from "./suggestions";

const t = texts.composer;

/** Names of commands, and the actions they are. */
const ACTIONS: Readonly<Record<string, string>> = {
  compact: "chat.compact",
  retry: "chat.retry",
  fork: "chat.fork",
  rename: "chat.rename",
  "export markdown": "chat.export.markdown",
  "export html": "chat.export.html",
  "export json": "chat.export.json",
  archive: "chat.archive",
  new: "chat.new",
  settings: "settings",
};

export function useCommands(chat: Chat | null, onChoice: (choice: Choice) => void): readonly Command[] {
  const context = useActionContext();
  const models = useModels().data;
  return useMemo(() => {
    const acting = Object.entries(ACTIONS).flatMap(([name, id]): Command[] => {
      const action = actionOf(id);
      if (!isOffered(action, context)) return [];
      return [{ name, hint: titleOf(action, context), run: () => void perform(action, context) }];
    });
    const current = models?.find(one => (chat?.model ? one.name === chat.model : one.default));
    const choosing: Command[] = (models ?? []).map(one => ({
      name: `model ${one.name}`,
      hint: `${one.provider} · ${one.model}`,
      run: () => onChoice({ model: one.default ? null : one.name, effort: null }),
    }));
    const efforts: Command[] = (current?.efforts ?? []).map(effort => ({
      name: `effort ${effort}`,
      hint: t.effort,
      run: () => onChoice({ model: chat?.model ?? null, effort }),
    }));
    const panels: Command[] =
      chat === null
        ? []
        : PANELS.map(panel => ({
            name: panel.id,
            hint: texts.actions.openPanel(panel.title),
            run: () => openPanel(panel.id),
          }));
    return [...acting, ...choosing, ...efforts, ...panels];
  }, [context, models, chat, onChoice]);
}
