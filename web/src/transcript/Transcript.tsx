// The conversation. Only what is seen is drawn; it follows the end unless the reader scrolled up, and loads what
// was said earlier as the reader comes near it, without moving what is read.

import { elementScroll, useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, LoaderCircle } from "lucide-react";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { textOf } from "@/api/problem";
import { useChat, useFeed } from "@/feed/hooks";
import { texts } from "@/texts";
import { ChildAsks } from "@/tools/ChildAsks";
import { Button } from "@/ui/Button";
import { toast } from "@/ui/view";
import { estimated } from "./estimate";
import { FailureCard } from "./FailureCard";
import { useFollowing } from "./follow";
import { LiveLine } from "./LiveLine";
import { type Linked, useLinked } from "./linked";
import { PinBar } from "./PinBar";
import { RowView } from "./RowView";
import { gapAmong, type Row, reusing, rowOf, rowsOf, withPreview } from "./rows";

const t = texts.transcript;
/** History is loaded when the reader is so many rows away from where it ends. */
const AHEAD = 6;

export function Transcript({ chatId }: { chatId: string }) {
  const ready = useChat(state => state.caughtUp);
  const { target, go } = useLinked();
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <PinBar chatId={chatId} onJump={go} />
      {ready ? <History chatId={chatId} target={target} /> : <Opening />}
      <LiveLine />
    </div>
  );
}

/** Begins at the end, or where a link leads. */
function History({ chatId, target }: { chatId: string; target: Linked["target"] }) {
  const rows = useRows();
  const scroller = useRef<HTMLDivElement>(null);
  const below = useRef<HTMLDivElement>(null);
  const { follow, jump, leave, own, stick } = useFollowing(scroller, below);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: index => estimated(rows[index]),
    getItemKey: index => rows[index]?.key ?? index,
    scrollToFn: (...write) => own(() => elementScroll(...write)),
    anchorTo: "end",
    // So that the end is what is drawn first.
    initialOffset: () => rows.reduce((sum, row) => sum + estimated(row), 0) - innerHeight,
    initialRect: { width: 0, height: innerHeight },
    overscan: 4,
    paddingStart: 12,
    scrollPaddingStart: 12,
  });
  const items = virtual.getVirtualItems();
  const loading = useOlder(rows, items[0]?.index ?? 0, items.at(-1)?.index ?? -1);

  // Not by observing the messages: their sizes are observed already, and what changes through that is told too
  // late in the same frame.
  useLayoutEffect(stick);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each link, not for rows that come later
  useLayoutEffect(() => {
    const index = target === null ? -1 : rowOf(rows, target.messageId);
    if (index < 0) return;
    leave();
    virtual.scrollToIndex(index, { align: "start" });
  }, [target]);

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        role="log"
        aria-live="off"
        aria-label={t.label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="h-full overflow-y-auto overflow-x-hidden [overflow-anchor:none]"
      >
        <div className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {items.map(item => {
            const row = rows[item.index];
            if (row === undefined) return null;
            return (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                className="absolute top-0 left-0 w-full"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <RowView chatId={chatId} row={row} marked={isMarked(row, target?.messageId)} />
              </div>
            );
          })}
        </div>
        <div ref={below}>
          <ChildAsks chatId={chatId} />
          <FailureCard />
        </div>
      </div>
      {loading && (
        <p className="absolute top-2 left-1/2 flex -translate-x-1/2 items-center gap-2 rounded-full border bg-raised px-3 py-1 text-soft text-xs shadow-lift">
          <LoaderCircle aria-hidden className="size-3.5 animate-spin" />
          {t.older}
        </p>
      )}
      {!follow && (
        <Button
          icon={ArrowDown}
          className="absolute bottom-2 left-1/2 -translate-x-1/2 rounded-full! shadow-lift"
          onClick={jump}
        >
          {t.latest}
        </Button>
      )}
    </div>
  );
}

const isMarked = (row: Row, messageId: string | undefined): boolean =>
  messageId !== undefined && row.entries.some(entry => entry.message?.id === messageId);

/** The rows, with the same objects for what did not change. */
function useRows(): readonly Row[] {
  const messages = useChat(state => state.messages);
  const keys = useChat(state => state.keys);
  const gaps = useChat(state => state.gaps);
  const preview = useChat(state => state.preview);
  const before = useRef<readonly Row[]>([]);
  const breaks = useRef(new Set<string>());
  const rows = useMemo(() => {
    for (const gap of gaps) breaks.current.add(gap);
    before.current = reusing(before.current, rowsOf({ messages, keys }, breaks.current));
    return before.current;
  }, [messages, keys, gaps]);
  return useMemo(() => withPreview(rows, preview), [rows, preview]);
}

/** Loads the history that is missing near the rows that are seen. Whether it is being loaded. */
function useOlder(rows: readonly Row[], from: number, to: number): boolean {
  const feed = useFeed();
  const gaps = useChat(state => state.gaps);
  const [loading, setLoading] = useState(false);
  const gap = to < 0 ? null : gapAmong(rows, from - AHEAD, to + AHEAD, gaps);
  useEffect(() => {
    if (gap === null) return;
    let wanted = true;
    setLoading(true);
    void feed
      .loadBefore(gap)
      .catch((error: unknown) => toast(textOf(error), "bad"))
      .finally(() => wanted && setLoading(false));
    return () => {
      wanted = false;
      setLoading(false);
    };
  }, [feed, gap]);
  return loading;
}

function Opening() {
  return (
    <div role="status" className="mx-auto flex w-full min-h-0 max-w-3xl flex-1 flex-col gap-4 px-4 pt-8">
      <span className="sr-only">{texts.common.loading}</span>
      <div className="ml-auto h-10 w-2/5 animate-pulse rounded-2xl bg-sunken" />
      <div className="h-4 w-4/5 animate-pulse rounded bg-sunken" />
      <div className="h-4 w-3/5 animate-pulse rounded bg-sunken" />
    </div>
  );
}
