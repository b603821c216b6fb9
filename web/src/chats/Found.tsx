// Chats that a search found, or that are archived: read from the server, page by page.

import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import { FoundLine } from "@/text/Found";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { useNow } from "@/ui/now";
import { draw } from "@/ui/view";
import { ChatRow } from "./ChatRow";

const t = texts.chats;
const PAGE = 50;
// What is said meanwhile is found too.
const AGAIN_MS = 5000;

export function Found({ query, archived }: { query: string; archived: boolean | null }) {
  const now = useNow();
  const found = useInfiniteQuery({
    queryKey: ["chats", query, archived],
    queryFn: ({ pageParam, signal }) =>
      call("GET /chats", { query: { q: query || null, archived, limit: PAGE, cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: page => page.next_cursor,
    placeholderData: before => before,
    refetchInterval: query === "" ? false : AGAIN_MS,
  });
  const chats = found.data?.pages.flatMap(page => page.items) ?? [];
  if (found.isError) {
    return (
      <p role="alert" className="p-2 text-bad text-sm">
        {textOf(found.error)}
      </p>
    );
  }
  return (
    <section aria-label={query === "" ? t.archived : t.search}>
      <p role="status" className="px-2 pt-3 pb-1 text-faint text-xs">
        {found.isPending ? texts.common.loading : query === "" ? t.archived : t.found(chats.length)}
      </p>
      {query === "" && !found.isPending && chats.length === 0 && (
        <p className="px-2 py-6 text-center text-faint text-sm">{t.noArchived}</p>
      )}
      <ul>
        {chats.map(chat => (
          <Fragment key={chat.id}>
            <ChatRow chat={chat} now={now} />
            {chat.found && (
              <li>
                <Link
                  to="/chats/$chatId"
                  params={{ chatId: chat.id }}
                  hash={chat.found.message_id}
                  onClick={() => draw(null)}
                  className="mb-1 ml-6 line-clamp-2 break-words rounded-md px-1 py-0.5 text-soft text-xs hover:bg-hover"
                >
                  <FoundLine line={chat.found.line} query={query} />
                </Link>
              </li>
            )}
          </Fragment>
        ))}
      </ul>
      {found.hasNextPage && (
        <Button weight="quiet" busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          {texts.common.more}
        </Button>
      )}
    </section>
  );
}
