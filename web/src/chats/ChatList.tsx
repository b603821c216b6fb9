// The chats: search, pinned, by day, and the sub-agents of those that have some.

import { Archive, ArrowLeft, MessageSquarePlus, Search, X } from "lucide-react";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useAction } from "@/actions/hooks";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { useNow } from "@/ui/now";
import { Account } from "./Account";
import { ChatRow } from "./ChatRow";
import { Found } from "./Found";
import { grouped } from "./groups";
import { loadMore, useChats } from "./store";

const t = texts.chats;

export function ChatList() {
  const [query, setQuery] = useState("");
  const [archived, setArchived] = useState(false);
  const words = useDeferredValue(query.trim());
  const link = useChats(state => state.link);
  return (
    <div className="flex h-full flex-col">
      <Head query={query} onQuery={setQuery} />
      <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-2" data-testid="chat-list" data-link={link}>
        {words !== "" ? (
          <Found query={words} archived={null} />
        ) : archived ? (
          <Found query="" archived />
        ) : (
          <Listed />
        )}
      </div>
      <footer className="flex items-center gap-1 border-t p-2">
        <Account />
        <IconButton
          icon={archived ? ArrowLeft : Archive}
          label={archived ? t.hideArchived : t.showArchived}
          aria-pressed={archived}
          onClick={() => setArchived(!archived)}
        />
      </footer>
    </div>
  );
}

function Head({ query, onQuery }: { query: string; onQuery: (query: string) => void }) {
  const create = useAction("chat.new");
  return (
    <header className="flex flex-col gap-2 p-2">
      <div className="flex h-9 items-center justify-between gap-2 pl-2">
        <h2 className="font-semibold text-sm">{texts.name}</h2>
        <Button small icon={MessageSquarePlus} onClick={create.run}>
          {t.new}
        </Button>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: <search> is not everywhere yet */}
      <div role="search" className="relative">
        <Search
          aria-hidden
          className="-translate-y-1/2 pointer-events-none absolute top-1/2 left-2.5 size-3.5 text-faint"
        />
        <input
          id="chat-search"
          type="text"
          value={query}
          aria-label={t.searchHint}
          placeholder={t.search}
          autoComplete="off"
          onChange={event => onQuery(event.target.value)}
          onKeyDown={event => {
            if (event.key === "Escape" && query !== "") {
              event.preventDefault();
              onQuery("");
            }
          }}
          className="h-8 w-full rounded-md border border-line bg-canvas pr-8 pl-8 text-sm placeholder:text-faint"
        />
        {query !== "" && (
          <IconButton
            small
            icon={X}
            label={t.clearSearch}
            className="absolute top-0.5 right-0.5"
            onClick={() => onQuery("")}
          />
        )}
      </div>
    </header>
  );
}

function Listed() {
  const chats = useChats(state => state.chats);
  const loaded = useChats(state => state.loaded);
  const now = useNow();
  const groups = useMemo(() => grouped(chats.values(), now), [chats, now]);
  if (loaded && groups.length === 0)
    return <p className="px-2 py-6 text-center text-faint text-sm">{t.empty}</p>;
  return (
    <>
      {groups.map(group => (
        <section key={group.heading} aria-labelledby={`chats-${group.heading}`}>
          <h3 id={`chats-${group.heading}`} className="px-2 pt-3 pb-1 font-medium text-faint text-xs">
            {t[group.heading]}
          </h3>
          <ul>
            {group.chats.map(chat => (
              <ChatRow key={chat.id} chat={chat} now={now} />
            ))}
          </ul>
        </section>
      ))}
      <MoreBelow />
    </>
  );
}

/** Reads the next page when the end of the list comes into sight. */
function MoreBelow() {
  const cursor = useChats(state => state.cursor);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (ref.current === null || cursor === null) return;
    const seen = new IntersectionObserver(entries => {
      if (entries.some(entry => entry.isIntersecting)) void loadMore();
    });
    seen.observe(ref.current);
    return () => seen.disconnect();
  }, [cursor]);
  return cursor === null ? null : (
    <div ref={ref} className="py-2 text-center text-faint text-xs">
      {texts.common.loading}
    </div>
  );
}
