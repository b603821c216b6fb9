// Chats that a search found, or that are archived: read from the server, page by page.

import { useInfiniteQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { useNow } from "@/ui/now";
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
      <ul>
        {chats.map(chat => (
          <ChatRow key={chat.id} chat={chat} now={now} />
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
