// Every action and every chat, by a few letters.

import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { MessageSquare } from "lucide-react";
import { useDeferredValue, useMemo, useState } from "react";
import { ACTIONS } from "@/actions/all";
import { useActionContext } from "@/actions/hooks";
import { isOffered, perform, type Section, titleOf } from "@/actions/registry";
import { call } from "@/api/client";
import type { Chat } from "@/api/schema";
import { useChats } from "@/chats/store";
import { texts } from "@/texts";
import { Keys } from "@/ui/Keys";
import { Modal } from "@/ui/Modal";
import { best } from "./best";

const t = texts.palette;
const ORDER: readonly Section[] = ["chat", "general", "view", "settings"];
const MOST_CHATS = 8;
const ITEM =
  "flex cursor-pointer select-none items-center gap-2.5 rounded-md px-2.5 py-2 text-sm data-[selected=true]:bg-hover";

export function Palette({ onClose }: { onClose: () => void }) {
  const context = useActionContext();
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState("");
  const words = query.trim();
  const actions = useMemo(() => {
    const offered = ACTIONS.filter(action => action.id !== "palette" && isOffered(action, context));
    const found = best(words, offered, action => titleOf(action, context));
    return ORDER.flatMap(section => found.filter(action => action.section === section));
  }, [words, context]);
  const { byTitle, byText } = useFoundChats(words);
  // Enter means the first one, until another was chosen: also directly after a letter was typed.
  const ids = [...byTitle, ...actions, ...byText].map(one => one.id);
  const value = ids.includes(chosen) ? chosen : (ids[0] ?? "");
  const then = (run: () => void) => () => {
    onClose();
    run();
  };
  const opens = (chat: Chat) => then(() => context.navigate(`/chats/${chat.id}`));
  return (
    <Modal title={t.title} bare onClose={onClose}>
      <Command
        shouldFilter={false}
        label={t.title}
        loop
        value={value}
        onValueChange={setChosen}
        className="flex flex-col"
      >
        <Command.Input
          data-first
          value={query}
          onValueChange={text => {
            setQuery(text);
            setChosen("");
          }}
          placeholder={t.placeholder}
          className="w-full border-line border-b bg-transparent px-4 py-3 outline-none placeholder:text-faint"
        />
        <Command.List className="max-h-[min(55dvh,26rem)] overflow-y-auto p-1.5 [&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-faint [&_[cmdk-group-heading]]:text-xs">
          <Command.Empty className="px-4 py-6 text-center text-faint text-sm">{t.nothing}</Command.Empty>
          <Chats heading={t.chats} chats={byTitle} opens={opens} />
          {ORDER.map(section => {
            const some = actions.filter(action => action.section === section);
            return some.length === 0 ? null : (
              <Command.Group key={section} heading={texts.actions.sections[section]}>
                {some.map(action => (
                  <Command.Item
                    key={action.id}
                    value={action.id}
                    onSelect={then(() => void perform(action, context))}
                    className={ITEM}
                  >
                    {action.icon && <action.icon aria-hidden className="size-4 shrink-0 text-faint" />}
                    <span className="min-w-0 flex-1 truncate">{titleOf(action, context)}</span>
                    {action.keys?.[0] && <Keys keys={action.keys[0]} />}
                  </Command.Item>
                ))}
              </Command.Group>
            );
          })}
          <Chats heading={t.said} chats={byText} opens={opens} />
        </Command.List>
      </Command>
    </Modal>
  );
}

interface ChatsProps {
  heading: string;
  chats: readonly Chat[];
  opens: (chat: Chat) => () => void;
}

function Chats({ heading, chats, opens }: ChatsProps) {
  if (chats.length === 0) return null;
  return (
    <Command.Group heading={heading}>
      {chats.map(chat => (
        <Command.Item key={chat.id} value={chat.id} onSelect={opens(chat)} className={ITEM}>
          <MessageSquare aria-hidden className="size-4 shrink-0 text-faint" />
          <span className="min-w-0 flex-1 truncate">{chat.title || texts.chats.untitled}</span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}

/** By title those that are known, at once; by what was said in them those that the server finds, at the end. */
function useFoundChats(words: string): { byTitle: readonly Chat[]; byText: readonly Chat[] } {
  const known = useChats(state => state.chats);
  const asked = useDeferredValue(words);
  const found = useQuery({
    queryKey: ["chats", "palette", asked],
    queryFn: ({ signal }) =>
      call("GET /chats", { query: { q: asked, archived: null, limit: MOST_CHATS }, signal }),
    enabled: asked.length > 1,
  });
  return useMemo(() => {
    if (words === "") return { byTitle: [], byText: [] };
    const byTitle = best(words, [...known.values()], chat => chat.title).slice(0, MOST_CHATS);
    const ids = new Set(byTitle.map(chat => chat.id));
    return { byTitle, byText: (found.data?.items ?? []).filter(chat => !ids.has(chat.id)) };
  }, [words, known, found.data]);
}
