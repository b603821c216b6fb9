// From one chat to the next, in the order of the list.

import { ArrowDown, ArrowUp } from "lucide-react";
import { grouped } from "@/chats/groups";
import { useChats } from "@/chats/store";
import { texts } from "@/texts";
import type { Action, Context } from "./registry";

const go = (step: 1 | -1) => (context: Context) => {
  const listed = grouped(useChats.getState().chats.values(), new Date()).flatMap(group => group.chats);
  if (listed.length === 0) return;
  const root = context.chat?.root_id ?? null;
  const at = listed.findIndex(chat => chat.id === root);
  const next = at < 0 ? (step === 1 ? 0 : listed.length - 1) : (at + step + listed.length) % listed.length;
  const chat = listed[next];
  if (chat !== undefined) context.navigate(`/chats/${chat.id}`);
};

export const moving: readonly Action[] = [
  {
    id: "chats.next",
    title: texts.actions.nextChat,
    section: "general",
    icon: ArrowDown,
    keys: ["alt+arrowdown", "j"],
    run: go(1),
  },
  {
    id: "chats.previous",
    title: texts.actions.previousChat,
    section: "general",
    icon: ArrowUp,
    keys: ["alt+arrowup", "k"],
    run: go(-1),
  },
];
