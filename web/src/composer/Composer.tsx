// Where a person writes: to a chat, with its queue above, or to start one.

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { change } from "@/actions/chat";
import { useAction } from "@/actions/hooks";
import { call, newKey } from "@/api/client";
import { textOf } from "@/api/problem";
import { modesQuery } from "@/api/queries";
import { know } from "@/chats/store";
import { useChat, useFeed } from "@/feed/hooks";
import { texts } from "@/texts";
import { textOfParts } from "@/transcript/copy";
import { content } from "@/transcript/edit";
import { toEnd } from "@/transcript/follow";
import { toast } from "@/ui/view";
import { useCommands } from "./commands";
import { AFTER_START, useDraft } from "./drafts";
import type { How } from "./keys";
import {
  AgentPicker,
  type Choice,
  ModelPicker,
  ModePicker,
  nextMode,
  type ProviderTools,
  WorkspacePicker,
  type Writes,
} from "./Pickers";
import { Queue } from "./Queue";
import { useOnce } from "./sending";
import { Writer } from "./Writer";

const t = texts.composer;
const NOTHING = { text: "", files: [] };

export function Composer({ chatId }: { chatId: string | null }) {
  return chatId === null ? <NewChat /> : <InChat key={chatId} chatId={chatId} />;
}

function NewChat() {
  const navigate = useNavigate();
  const [draft, setDraft] = useDraft("new");
  const once = useOnce();
  const {
    model = null,
    effort = null,
    workspaceId = null,
    agent = null,
    mode = null,
    writes = null,
    providerTools = null,
  } = draft;
  const modes = useQuery(modesQuery).data ?? [];
  const commands = useCommands(null, choice => setDraft(choice));
  const send = () => {
    const said = content(
      draft.text.trim(),
      draft.files.map(file => file.id),
    );
    const body = {
      content: said,
      ...(model && { model }),
      ...(effort && { effort }),
      ...(workspaceId && { workspace_id: workspaceId }),
      ...(agent && { agent }),
      ...(mode && { mode }),
      ...(writes && { writes }),
      ...(providerTools && { provider_tools: providerTools }),
    };
    return once(JSON.stringify(body), async key => {
      const created = await call("POST /chats", { body, once: key });
      know(created);
      setDraft(AFTER_START);
      await navigate({ to: "/chats/$chatId", params: { chatId: created.id } });
    });
  };
  return (
    <Writer
      draft={draft}
      onDraft={setDraft}
      onSend={send}
      placeholder={t.placeholder}
      busy={false}
      onMode={() => setDraft({ mode: nextMode(modes, mode ?? "build") })}
      commands={commands}
      workspaceId={workspaceId}
      model={model}
      history={() => []}
    >
      <ModelPicker
        model={model}
        effort={effort}
        onChoice={choice => setDraft({ ...choice, ...(choice.model !== model && { providerTools: null }) })}
        tools={providerTools}
        onTools={tools => setDraft({ providerTools: tools })}
      />
      <ModePicker
        mode={mode ?? "build"}
        onMode={value => setDraft({ mode: value })}
        writes={writes ?? "direct"}
        onWrites={value => setDraft({ writes: value })}
      />
      <WorkspacePicker value={workspaceId} onValue={value => setDraft({ workspaceId: value })} />
      <AgentPicker value={agent} workspaceId={workspaceId} onValue={value => setDraft({ agent: value })} />
    </Writer>
  );
}

function InChat({ chatId }: { chatId: string }) {
  const feed = useFeed();
  const chat = useChat(state => state.chat);
  const [draft, setDraft] = useDraft(chatId);
  const [chosen, setChosen] = useState<Choice | null>(null);
  const modes = useQuery(modesQuery).data ?? [];
  const mode = chat?.mode ?? "build";
  const set = (wanted: { mode?: string; writes?: Writes }) => {
    change({ id: chatId }, wanted).catch((error: unknown) => toast(textOf(error), "bad"));
  };
  const setTools = (wanted: ProviderTools) => {
    change({ id: chatId }, { provider_tools: wanted }).catch((error: unknown) => toast(textOf(error), "bad"));
  };
  const stop = useAction("chat.interrupt");
  const restore = useAction("chat.unarchive");
  const once = useOnce();
  const choose = (choice: Choice) => {
    // Shown at once; what the server says counts.
    setChosen(choice);
    change({ id: chatId }, choice)
      .catch((error: unknown) => toast(textOf(error), "bad"))
      .finally(() => setChosen(null));
  };
  const commands = useCommands(chat, choose);
  const busy =
    chat?.status === "running" || chat?.status === "interrupting" || chat?.status === "requires_action";
  const send = (how: How) => {
    const said = content(
      draft.text.trim(),
      draft.files.map(file => file.id),
    );
    const body = { content: said, busy: how };
    return once(JSON.stringify(body), async key => {
      await call("POST /chats/{chat_id}/messages", { path: { chat_id: chatId }, body, once: key });
      setDraft(NOTHING);
      toEnd();
    });
  };
  const history = () =>
    feed.store
      .getState()
      .messages.flatMap(message => (message.role === "user" ? textOfParts(message.parts) || [] : []))
      .reverse();
  if (chat?.archived) {
    return (
      <p className="mx-auto flex w-full max-w-3xl items-center gap-3 px-4 pb-4 text-soft text-sm">
        {t.archived}
        {restore.offered && (
          <button
            type="button"
            onClick={restore.run}
            className="text-accent-text underline underline-offset-2"
          >
            {restore.title}
          </button>
        )}
      </p>
    );
  }
  return (
    <>
      <Queue chatId={chatId} />
      <Writer
        draft={draft}
        onDraft={setDraft}
        onSend={send}
        placeholder={busy ? t.placeholderBusy : t.placeholderChat}
        busy={busy}
        onStop={stop.offered ? stop.run : undefined}
        onMode={() => set({ mode: nextMode(modes, mode) })}
        commands={commands}
        workspaceId={chat?.workspace_id ?? null}
        model={(chosen ?? chat)?.model ?? null}
        history={history}
        onWorkflow={async (name, args) => {
          try {
            // It is told in the conversation from here on.
            await call("POST /workflow-runs", { body: { name, args, chat_id: chatId }, once: newKey() });
            toEnd();
            return true;
          } catch (error) {
            toast(textOf(error), "bad");
            return false;
          }
        }}
      >
        <ModelPicker
          model={(chosen ?? chat)?.model ?? null}
          effort={(chosen ?? chat)?.effort ?? null}
          onChoice={choose}
          tools={chat?.provider_tools ?? null}
          onTools={setTools}
        />
        <ModePicker
          mode={mode}
          onMode={wanted => set({ mode: wanted })}
          writes={chat?.writes ?? "direct"}
          onWrites={writes => set({ writes })}
        />
      </Writer>
    </>
  );
}
