// What sub-agents of this chat wait for: they are answered here, where the person is.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { childrenQuery } from "@/api/queries";
import { useChat } from "@/feed/hooks";
import { texts } from "@/texts";
import { Ask } from "./asks/Ask";
import { ChatLink } from "./bodies/Agents";

export function ChildAsks({ chatId }: { chatId: string }) {
  const action = useChat(state => state.chat?.action ?? null);
  const asks = useMemo(() => action?.calls.filter(one => one.chat_id !== chatId) ?? [], [action, chatId]);
  const children = useQuery({ ...childrenQuery(chatId), enabled: asks.length > 0 }).data;
  const nameOf = (id: string) => children?.find(child => child.id === id)?.title || texts.tools.ask.someAgent;
  return asks.map(ask => (
    <div key={`${ask.chat_id} ${ask.call_id}`} className="mx-auto max-w-3xl px-4 pt-2">
      <p className="flex items-center gap-2 text-soft text-sm">
        <span className="min-w-0 truncate">{texts.tools.ask.fromAgent(nameOf(ask.chat_id))}</span>
        <ChatLink chatId={ask.chat_id}>{texts.tools.openAgent}</ChatLink>
      </p>
      <Ask ask={ask} />
    </div>
  ));
}
