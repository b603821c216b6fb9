// Every action and every chat, by a few letters.

import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { type LucideIcon, MessageSquare } from "lucide-react";
import { useDeferredValue, useMemo, useState } from "react";
import { ACTIONS } from "@/actions/all";
import { useActionContext } from "@/actions/hooks";
import { isOffered, perform, type Section, titleOf } from "@/actions/registry";
import { call } from "@/api/client";
import type { Chat, ListedChat } from "@/api/schema";
import { useChats } from "@/chats/store";
import { FoundLine } from "@/text/Found";
import { texts } from "@/texts";
import { Keys } from "@/ui/Keys";
import { Modal } from "@/ui/Modal";
import { best, bestFirst, type Group } from "./best";

const t = texts.palette;
const ORDER: readonly Section[] = ["chat", "general", "view", "settings"];
const MOST_CHATS = 8;
const ITEM =
  "flex cursor-pointer select-none items-center gap-2.5 rounded-md px-2.5 py-2 text-sm data-[selected=true]:bg-hover";

/** A line of the palette. */
interface Line {
  id: string;
  title: string;
  icon: LucideIcon | undefined;
  keys: string | undefined;
  /** Of a chat that was found by what was said in it. */
  line?: string | undefined;
  run: () => void;
}

export function Palette({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState("");
  const groups = useFound(query.trim());
  // Enter means the first one, until another was chosen: also directly after a letter was typed.
  const ids = groups.flatMap(group => group.items.map(line => line.id));
  const value = ids.includes(chosen) ? chosen : (ids[0] ?? "");
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
          {groups.map(group => (
            <Command.Group key={group.heading} heading={group.heading}>
              {group.items.map(({ id, title, icon: Icon, keys, line, run }) => (
                <Command.Item
                  key={id}
                  value={id}
                  onSelect={() => {
                    onClose();
                    run();
                  }}
                  className={ITEM}
                >
                  {Icon && <Icon aria-hidden className="size-4 shrink-0 text-faint" />}
                  <span className="min-w-0 flex-1">
                    <span className="block truncate">{title}</span>
                    {line && (
                      <span className="block truncate text-soft text-xs">
                        <FoundLine line={line} query={query} />
                      </span>
                    )}
                  </span>
                  {keys && <Keys keys={keys} />}
                </Command.Item>
              ))}
            </Command.Group>
          ))}
        </Command.List>
      </Command>
    </Modal>
  );
}

/** Actions by section and chats by title, the likeliest first; at the end chats in which it was said. */
function useFound(words: string): readonly Group<Line>[] {
  const context = useActionContext();
  const { byTitle, byText } = useFoundChats(words);
  const actions = useMemo(() => {
    const offered = ACTIONS.filter(action => action.id !== "palette" && isOffered(action, context));
    return best(words, offered, action => titleOf(action, context));
  }, [words, context]);
  const sections = ORDER.map(section => ({
    heading: texts.actions.sections[section],
    items: actions
      .filter(action => action.section === section)
      .map(action => ({
        id: action.id,
        title: titleOf(action, context),
        icon: action.icon,
        keys: action.keys?.[0],
        run: () => void perform(action, context),
      })),
  }));
  const chats = (heading: string, some: readonly (Chat | ListedChat)[]): Group<Line> => ({
    heading,
    items: some.map(chat => ({
      id: chat.id,
      title: chat.title || texts.chats.untitled,
      icon: MessageSquare,
      keys: undefined,
      line: placeIn(chat)?.line,
      run: () => {
        const place = placeIn(chat);
        context.navigate(`/chats/${chat.id}${place ? `#${place.message_id}` : ""}`);
      },
    })),
  });
  const titled = bestFirst(words, [chats(t.chats, byTitle), ...sections], line => line.title);
  return byText.length === 0 ? titled : [...titled, chats(t.said, byText)];
}

const placeIn = (chat: Chat | ListedChat) => ("found" in chat ? chat.found : null);

/** By title those that are known, at once; by what was said in them those that the server finds, at the end. */
function useFoundChats(words: string): { byTitle: readonly Chat[]; byText: readonly ListedChat[] } {
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
