// What sub-agents of this chat wait for: they are answered here, where the person is.

import { useMemo } from "react";
import { useChat } from "@/feed/hooks";
import { texts } from "@/texts";
import { Ask } from "./asks/Ask";
import { ChatLink } from "./bodies/Agents";

export function ChildAsks({ chatId }: { chatId: string }) {
  const action = useChat(state => state.chat?.action ?? null);
  const asks = useMemo(() => action?.calls.filter(one => one.chat_id !== chatId) ?? [], [action, chatId]);
  return asks.map(ask => (
    <div key={`${ask.chat_id} ${ask.call_id}`} className="mx-auto max-w-3xl px-4">
      <p className="flex items-center gap-1 text-soft text-sm">
        {texts.tools.ask.fromAgent} <ChatLink chatId={ask.chat_id}>{texts.tools.openAgent}</ChatLink>
      </p>
      <Ask ask={ask} />
    </div>
  ));
}
