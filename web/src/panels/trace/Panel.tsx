// The trace: what the agent did and how long each piece took, turn by turn, live. Only the rows in sight are
// drawn, so that many thousand spans cost no more than a screenful.

import { useVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { ChartGantt } from "lucide-react";
import { type KeyboardEvent, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import type { Span, Usage } from "@/api/schema";
import { Empty } from "@/panels/Empty";
import type { PanelProps } from "@/panels/registry";
import { Unread } from "@/panels/Unread";
import { useChatUsage } from "@/panels/useChatUsage";
import { useTrace } from "@/panels/useTrace";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { money, tokens } from "@/ui/format";
import { useTick } from "@/ui/tick";
import { CacheBar, percent } from "./CacheBar";
import { cacheOf, cacheTotal, countdown, warmUntil } from "./cache";
import { Details } from "./Details";
import { EVERYTHING, type Filter, type Folds, grouped, isFiltering, type Row, rowsOf } from "./layout";
import { heightOf, SpanRow, TurnRow } from "./Rows";
import { ALL, moved, type Shown, zoomed } from "./scale";
import { Toolbar } from "./Toolbar";
import { useAsked } from "./useAsked";

const t = texts.panels.trace;

export default function TracePanel({ chatId }: PanelProps) {
  const trace = useTrace(chatId);
  const spans = useDeferredValue(trace.spans);
  const [filter, setFilter] = useState<Filter>(EVERYTHING);
  const [folds, setFolds] = useState<Folds>(new Map());
  const [shown, setShown] = useState<Shown>(ALL);
  const [chosen, setChosen] = useState<string | null>(null);
  const asked = useAsked();
  const usage = useChatUsage(chatId);
  const groups = useMemo(() => grouped(spans, asked), [spans, asked]);
  const rows = useMemo(() => rowsOf(groups, folds, filter), [groups, folds, filter]);
  const known = useMemo(() => new Set(spans.map(span => span.kind)), [spans]);
  const goesOn = useMemo(
    () => spans.some(one => one.started_at !== null && one.finished_at === null),
    [spans],
  );
  const filtering = isFiltering(filter);
  const span = spans.find(one => one.id === chosen) ?? null;
  if (spans.length === 0 && trace.failed !== null) return <Unread why={trace.failed} onRetry={trace.retry} />;
  if (spans.length === 0 && !trace.loading)
    return <Empty icon={ChartGantt} title={t.empty} hint={t.emptyHint} />;
  const fold = (row: Row) => setFolds(before => new Map(before).set(row.key, row.open === false));
  return (
    <div className="flex h-full flex-col">
      <Toolbar filter={filter} onFilter={setFilter} shown={shown} onShown={setShown} known={known} />
      {rows.length === 0 && !trace.loading ? (
        <Nothing onClear={() => setFilter(EVERYTHING)} />
      ) : (
        <Waterfall
          rows={rows}
          shown={shown}
          onShown={setShown}
          chosen={chosen}
          onChoose={setChosen}
          usage={usage.turns}
          onFold={fold}
          onEnd={trace.more && !trace.loading && !filtering ? trace.loadMore : null}
          goesOn={goesOn}
        />
      )}
      {trace.failed !== null && <Unread why={trace.failed} onRetry={trace.retry} />}
      {filtering && trace.more && (
        // By hand: else a rare word would read a long chat to its beginning.
        <Button small weight="quiet" busy={trace.loading} onClick={trace.loadMore} className="m-1">
          {texts.panels.older}
        </Button>
      )}
      {span && (
        <Details key={span.id} chatId={chatId} span={span} spans={spans} onClose={() => setChosen(null)} />
      )}
      <Footer total={usage.total} spans={spans} />
    </div>
  );
}

interface WaterfallProps {
  rows: readonly Row[];
  shown: Shown;
  onShown: (shown: Shown) => void;
  chosen: string | null;
  onChoose: (key: string) => void;
  usage: ReadonlyMap<number, Usage>;
  onFold: (row: Row) => void;
  /** More can be loaded when the end is in sight. */
  onEnd: (() => void) | null;
  goesOn: boolean;
}

function Waterfall(props: WaterfallProps) {
  const { rows, shown, onShown, chosen, onChoose, usage, onFold, onEnd, goesOn } = props;
  const now = useTick(goesOn);
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string | null>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: index => heightOf(rows[index] as Row),
    getItemKey: index => rows[index]?.key ?? index,
    overscan: 12,
  });
  // The heights of rows are known, and change with what is unfolded.
  // biome-ignore lint/correctness/useExhaustiveDependencies: other rows have other heights
  useEffect(() => virtual.measure(), [virtual, rows]);
  // The details take room: what they are of stays in sight.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when another one is chosen
  useEffect(() => {
    const index = rows.findIndex(row => row.key === chosen);
    if (index >= 0) requestAnimationFrame(() => virtual.scrollToIndex(index));
  }, [chosen]);
  const items = virtual.getVirtualItems();
  const atEnd = (items.at(-1)?.index ?? -1) >= rows.length - 1;
  useEffect(() => {
    if (atEnd && onEnd !== null) onEnd();
  }, [atEnd, onEnd]);
  useWheel(scroller, shown, onShown);
  const at = rows.findIndex(row => row.key === active);
  const go = (index: number) => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (next === undefined) return;
    setActive(next.key);
    virtual.scrollToIndex(rows.indexOf(next));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[at];
    const done = keyPressed(event, row, {
      go: step => go(at < 0 ? 0 : at + step),
      end: () => go(rows.length - 1),
      begin: () => go(0),
      fold: onFold,
      choose: onChoose,
    });
    if (done) event.preventDefault();
  };
  return (
    <div
      ref={scroller}
      role="tree"
      aria-label={t.label}
      aria-activedescendant={at < 0 ? undefined : `span-${active}`}
      tabIndex={0}
      onKeyDown={onKeyDown}
      className="group/tree min-h-24 flex-1 overflow-y-auto overflow-x-hidden outline-none"
    >
      <div role="none" className="relative" style={{ height: virtual.getTotalSize() }}>
        {items.map(item => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys are the tree's, see onKeyDown
            <div
              key={item.key}
              id={`span-${row.key}`}
              role="treeitem"
              tabIndex={-1}
              aria-level={row.kind === "turn" ? 1 : row.depth + 2}
              aria-expanded={row.open ?? undefined}
              aria-selected={chosen === row.key}
              onClick={event => {
                setActive(row.key);
                const folds = row.kind === "turn" || isFold(event.target);
                if (folds && row.open !== null) onFold(row);
                else onChoose(row.key);
              }}
              className={clsx(
                "absolute inset-x-0 top-0 cursor-pointer outline-none",
                chosen === row.key ? "bg-chosen" : "hover:bg-hover",
                row.kind === "turn" && "bg-sunken",
                row.kind === "turn" && item.index > 0 && "border-line border-t",
                active === row.key &&
                  "group-focus-visible/tree:outline-2 group-focus-visible/tree:outline-focus group-focus-visible/tree:-outline-offset-2",
              )}
              style={{ transform: `translateY(${item.start}px)`, height: item.size }}
            >
              {row.kind === "turn" ? (
                <TurnRow row={row} shown={shown} now={now} usage={usage.get(row.group.turn) ?? null} />
              ) : (
                <SpanRow row={row} shown={shown} now={now} />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function isFold(target: EventTarget): boolean {
  return target instanceof Element && target.closest("[data-fold]") !== null;
}

interface Moves {
  go: (step: number) => void;
  begin: () => void;
  end: () => void;
  fold: (row: Row) => void;
  choose: (key: string) => void;
}

/** Whether the key was one of the tree's. */
function keyPressed(event: KeyboardEvent, row: Row | undefined, moves: Moves): boolean {
  switch (event.key) {
    case "ArrowDown":
      moves.go(1);
      return true;
    case "ArrowUp":
      moves.go(-1);
      return true;
    case "Home":
      moves.begin();
      return true;
    case "End":
      moves.end();
      return true;
    case "ArrowRight":
      if (row?.open === false) moves.fold(row);
      else moves.go(1);
      return true;
    case "ArrowLeft":
      if (row?.open === true) moves.fold(row);
      else moves.go(-1);
      return true;
    case "Enter":
    case " ":
      if (row !== undefined) moves.choose(row.key);
      return true;
    default:
      return false;
  }
}

/** Ctrl or Cmd with the wheel zooms around the pointer, shift moves sideways. */
function useWheel(ref: { current: HTMLElement | null }, shown: Shown, onShown: (shown: Shown) => void): void {
  useEffect(() => {
    const element = ref.current;
    const onWheel = (event: WheelEvent) => {
      if (element === null || (!event.ctrlKey && !event.metaKey && !event.shiftKey)) return;
      event.preventDefault();
      const { left, width } = element.getBoundingClientRect();
      const at = Math.min(1, Math.max(0, (event.clientX - left) / width));
      const by = event.deltaY || event.deltaX;
      onShown(event.shiftKey ? moved(shown, Math.sign(by) * 0.1) : zoomed(shown, by < 0 ? 1.25 : 0.8, at));
    };
    // Not passive: the page itself must not zoom.
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [ref, shown, onShown]);
}

function Nothing({ onClear }: { onClear: () => void }) {
  return (
    <div className="flex flex-1 flex-col items-center justify-center gap-3 text-soft text-sm">
      {t.nothing}
      <Button small onClick={onClear}>
        {t.clear}
      </Button>
    </div>
  );
}

/** Of turns that are not loaded, and of sub-agents, only the server knows. */
function Footer({ total, spans }: { total: Usage | null; spans: readonly Span[] }) {
  const loaded = useMemo(() => cacheTotal(spans), [spans]);
  const until = useMemo(() => warmUntil(spans), [spans]);
  const share = (total && cacheOf(total)) ?? loaded;
  return (
    <footer className="tabular flex min-h-8 shrink-0 flex-wrap items-center gap-x-2 border-line border-t px-3 py-1 text-soft text-xs">
      {share === null ? (
        t.noCache
      ) : (
        <>
          <CacheBar share={share} className="w-16" />
          {t.hitRate(percent(share), tokens(share.read), tokens(share.total))}
        </>
      )}
      <Warm until={until} />
      {total && <span className="ml-auto">{t.total(tokens(total.total), money(total.cost_usd_micros))}</span>}
    </footer>
  );
}

/** How long the provider still has what was sent. */
function Warm({ until }: { until: number | null }) {
  const [now, setNow] = useState(Date.now);
  const warm = until !== null && until > now;
  useEffect(() => {
    setNow(Date.now());
    if (until === null || until <= Date.now()) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  // Read out once a second it would be a nuisance.
  return warm ? <span aria-hidden>{t.cacheWarm(countdown(until - now))}</span> : null;
}
