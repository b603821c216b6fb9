// From one chat to the next, in the order of the list; to what waits for a person, and answering it.

import { ArrowDown, ArrowUp, Ban, BellRing, Check, CheckCheck } from "lucide-react";
import { grouped } from "@/chats/groups";
import { useChats } from "@/chats/store";
import { walkOn } from "@/composer/arrival";
import { needsYou } from "@/feed/state";
import { texts } from "@/texts";
import { pressInAsk, toNextAsk } from "@/tools/asks/focus";
import type { Action, Context } from "./registry";

const go = (step: 1 | -1) => (context: Context) => {
  const listed = grouped(useChats.getState().chats.values(), new Date()).flatMap(group => group.chats);
  if (listed.length === 0) return;
  const root = context.chat?.root_id ?? null;
  const at = listed.findIndex(chat => chat.id === root);
  const next = at < 0 ? (step === 1 ? 0 : listed.length - 1) : (at + step + listed.length) % listed.length;
  const chat = listed[next];
  if (chat === undefined) return;
  walkOn();
  context.navigate(`/chats/${chat.id}`);
};

const waitsFor = ({ chat }: Context): boolean => chat !== null && needsYou(chat);
const approves = ({ chat }: Context): boolean =>
  chat?.action?.calls.some(one => one.kind === "approval") ?? false;

const answering = (id: string, title: string, key: "y" | "a" | "n", icon: Action["icon"]): Action => ({
  id: `ask.${id}`,
  title,
  section: "chat",
  ...(icon && { icon }),
  keys: [key],
  when: approves,
  run: () => pressInAsk(key),
});

/** To the next request of this chat; when there is none, to the next chat that needs somebody. */
function toWaiting(context: Context): void {
  if (waitsFor(context)) {
    toNextAsk();
    return;
  }
  const next = waitingChats()[0];
  if (next !== undefined) context.navigate(`/chats/${next.id}`);
}

const waitingChats = () =>
  grouped(useChats.getState().chats.values(), new Date())
    .flatMap(group => group.chats)
    .filter(needsYou);

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
  {
    id: "ask.next",
    title: texts.actions.nextRequest,
    section: "general",
    icon: BellRing,
    keys: ["alt+w", "w"],
    when: context => waitsFor(context) || waitingChats().length > 0,
    run: toWaiting,
  },
  answering("once", texts.actions.allowOnce, "y", Check),
  answering("chat", texts.actions.allowChat, "a", CheckCheck),
  answering("deny", texts.actions.deny, "n", Ban),
];
