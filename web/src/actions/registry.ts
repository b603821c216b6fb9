// What a person can do, once: buttons, menus, the palette and the keys all read these. An action that cannot be
// done now is not offered anywhere.

import type { LucideIcon } from "lucide-react";
import { textOf } from "@/api/problem";
import type { Chat } from "@/api/schema";
import { toast } from "@/ui/view";

/** What an action may look at, and what it does things with. */
export interface Context {
  /** The chat that is shown. */
  chat: Chat | null;
  admin: boolean;
  navigate: (to: string) => void;
}

export type Section = "general" | "chat" | "view" | "settings";

export interface Action {
  id: string;
  title: string | ((context: Context) => string);
  section: Section;
  icon?: LucideIcon;
  /** As in `keys.ts`; the first one is shown. */
  keys?: readonly string[];
  when?: (context: Context) => boolean;
  danger?: boolean;
  run: (context: Context) => void | Promise<void>;
}

export function isOffered(action: Action, context: Context): boolean {
  return action.when === undefined || action.when(context);
}

export function titleOf(action: Action, context: Context): string {
  return typeof action.title === "string" ? action.title : action.title(context);
}

/** Does it; what goes wrong is told to the person. */
export async function perform(action: Action, context: Context): Promise<void> {
  if (!isOffered(action, context)) return;
  try {
    await action.run(context);
  } catch (error) {
    toast(textOf(error), "bad");
  }
}
