// One chat: the bar above, the conversation with its composer, the panels beside it.

import { useEffect } from "react";
import { markSeen } from "@/chats/seen";
import { know } from "@/chats/store";
import { Composer } from "@/composer/Composer";
import { ChatFeedProvider, useChat } from "@/feed/hooks";
import { NotFound } from "@/shell/NotFound";
import { Panels } from "@/shell/Panels";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { McpQuestions } from "@/tools/McpQuestions";
import { Transcript } from "@/transcript/Transcript";
import { Boundary } from "@/ui/Boundary";
import { dismissAbout } from "@/ui/view";
import { useAnnouncements } from "./announcements";
import { useOpenChat } from "./open";
import { TopBar } from "./TopBar";

export function ChatPage({ chatId }: { chatId: string }) {
  return (
    <ChatFeedProvider chatId={chatId}>
      <Inside chatId={chatId} />
    </ChatFeedProvider>
  );
}

function Inside({ chatId }: { chatId: string }) {
  const gone = useChat(state => state.link === "gone");
  useTellOutside();
  useAnnouncements();
  if (gone) return <NotFound />;
  return (
    <div className="flex min-h-0 flex-1">
      <div className="flex min-w-0 flex-1 flex-col">
        <TopBar />
        <main id="conversation" tabIndex={-1} className="flex min-h-0 flex-1 flex-col outline-none">
          <h2 className="sr-only">{texts.transcript.label}</h2>
          <Boundary>
            <Transcript chatId={chatId} />
          </Boundary>
          <McpQuestions chatId={chatId} />
          <Composer chatId={chatId} />
        </main>
      </div>
      <Panels chatId={chatId} />
    </div>
  );
}

/** The list, the actions and the window's title know what this chat's feed tells. */
function useTellOutside(): void {
  const chat = useChat(state => state.chat);
  useEffect(() => {
    useOpenChat.setState({ chat });
    if (chat === null) return;
    know(chat);
    dismissAbout(chat.root_id);
    if (document.visibilityState === "visible") markSeen(chat);
    document.title = `${visible(chat.title) || texts.chats.untitled} · ${texts.name}`;
  }, [chat]);
  useEffect(
    () => () => {
      useOpenChat.setState({ chat: null });
      document.title = texts.name;
    },
    [],
  );
}
