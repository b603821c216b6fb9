// Tells a person that an agent needs them or is done: on the page, and by the system while they look elsewhere.
// Not for the chat that they are looking at, and never for every message.

import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { Chat } from "@/api/schema";
import { useOpenChat } from "@/chat/open";
import { needsYou } from "@/feed/state";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { usePreferences } from "@/ui/preferences";
import { announce, toast } from "@/ui/view";

const t = texts.notify;

export function useNotifier(): (chat: Chat) => void {
  const navigate = useNavigate();
  return useCallback(
    (chat: Chat) => {
      const open = () => void navigate({ to: "/chats/$chatId", params: { chatId: chat.id } });
      const looking = document.visibilityState === "visible" && document.hasFocus();
      if (looking && useOpenChat.getState().chat?.root_id === chat.id) return;
      const text = textOf(chat);
      announce(text);
      toast(text, needsYou(chat) || chat.status === "error" ? "attention" : "good", {
        action: { title: t.open, run: open },
        about: chat.id,
      });
      if (!looking && usePreferences.getState().notifications) bySystem(text, chat, open);
    },
    [navigate],
  );
}

export function textOf(chat: Chat): string {
  const title = visible(chat.title) || texts.chats.untitled;
  if (needsYou(chat)) return t.needsYou(title);
  return chat.status === "error" ? t.failed(title) : t.done(title);
}

function bySystem(text: string, chat: Chat, open: () => void): void {
  if (typeof Notification === "undefined" || Notification.permission !== "granted") return;
  const note = new Notification(texts.name, { body: text, tag: chat.id });
  note.onclick = () => {
    window.focus();
    open();
    note.close();
  };
}

/** Asks the browser for leave; only ever after a click. */
export async function askLeave(): Promise<boolean> {
  if (typeof Notification === "undefined") return false;
  return (await Notification.requestPermission()) === "granted";
}
