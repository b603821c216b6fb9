// The turns of the chat: when, how long, with what, for how much. A click leads to the turn's message.

import { useVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { ArrowDownToLine, ListOrdered } from "lucide-react";
import { memo, useDeferredValue, useEffect, useMemo, useRef } from "react";
import { useChat } from "@/feed/hooks";
import { Empty } from "@/panels/Empty";
import type { PanelProps } from "@/panels/registry";
import { useToMessage } from "@/panels/toMessage";
import { Lasted } from "@/panels/trace/Rows";
import { useTrace } from "@/panels/useTrace";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { moment, money, tokens } from "@/ui/format";
import { useTick } from "@/ui/tick";
import { type TurnLine, turnLines } from "./turns";

const t = texts.panels.timeline;
const ROW_PX = 92;

export default function TimelinePanel({ chatId }: PanelProps) {
  const trace = useTrace(chatId);
  const spans = useDeferredValue(trace.spans);
  const turns = useMemo(() => turnLines(spans), [spans]);
  const latest = useChat(state => state.messages.at(-1)?.id ?? null);
  const toMessage = useToMessage(chatId);
  const now = useTick(turns.some(turn => turn.active));
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: turns.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: index => turns[index]?.turn ?? index,
    overscan: 6,
  });
  const items = virtual.getVirtualItems();
  const atEnd = (items.at(-1)?.index ?? -1) >= turns.length - 1;
  const { more, loading, loadMore } = trace;
  useEffect(() => {
    if (atEnd && more && !loading) loadMore();
  }, [atEnd, more, loading, loadMore]);
  if (turns.length === 0)
    return trace.loading ? null : <Empty icon={ListOrdered} title={t.empty} hint={t.emptyHint} />;
  return (
    <div className="flex h-full flex-col">
      <div className="flex h-10 shrink-0 items-center justify-end border-line border-b px-2">
        <Button
          small
          icon={ArrowDownToLine}
          disabled={latest === null}
          onClick={() => latest !== null && toMessage(latest)}
        >
          {t.latest}
        </Button>
      </div>
      <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
        <ol aria-label={t.label} className="relative" style={{ height: virtual.getTotalSize() }}>
          {items.map(item => {
            const turn = turns[item.index];
            if (turn === undefined) return null;
            return (
              <li
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <Turn turn={turn} now={turn.active ? now : 0} onGo={toMessage} />
              </li>
            );
          })}
        </ol>
      </div>
    </div>
  );
}

interface TurnProps {
  turn: TurnLine;
  now: number;
  onGo: (messageId: string) => void;
}

const Turn = memo(function Turn({ turn, now, onGo }: TurnProps) {
  const id = turn.messageId;
  const kind = texts.panels.trace.turnKinds[turn.kind] ?? turn.kind;
  return (
    <button
      type="button"
      disabled={id === null}
      aria-current={turn.active ? "step" : undefined}
      onClick={() => id !== null && onGo(id)}
      className={clsx(
        "flex w-full flex-col gap-0.5 border-line border-b border-l-2 py-2 pr-3 pl-3 text-left enabled:hover:bg-hover",
        turn.active ? "border-l-accent bg-accent-soft/50" : "border-l-transparent",
      )}
    >
      <span className="flex min-w-0 items-baseline gap-2 text-sm">
        <span className="tabular shrink-0 text-faint text-xs">{turn.turn}</span>
        <span className="min-w-0 flex-1 truncate font-medium">{turn.asked || kind}</span>
        {turn.active && (
          <span className="shrink-0 rounded-full bg-accent-soft px-1.5 text-accent-text text-xs">
            {t.active}
          </span>
        )}
        {turn.extent && <Lasted kind="turn" extent={turn.extent} now={now} />}
      </span>
      <span className="tabular flex flex-wrap gap-x-3 text-soft text-xs">
        {turn.extent && <span>{moment(new Date(turn.extent.start).toISOString())}</span>}
        {turn.models.length > 0 && <span>{turn.models.join(", ")}</span>}
        <span>{t.steps(turn.steps)}</span>
        {turn.tools > 0 && <span>{t.tools(turn.tools)}</span>}
        {turn.agents > 0 && <span>{t.agents(turn.agents)}</span>}
      </span>
      <Spending turn={turn} />
      {turn.outcome !== null && turn.outcome !== "finished" && (
        <span className={clsx("truncate text-xs", turn.outcome === "failed" ? "text-bad" : "text-warn")}>
          {texts.panels.outcomes[turn.outcome] ?? turn.outcome}
          {turn.failure && `: ${turn.failure}`}
        </span>
      )}
    </button>
  );
});

function Spending({ turn }: { turn: TurnLine }) {
  if (turn.input + turn.output === 0) return null;
  return (
    <span className="tabular flex flex-wrap gap-x-3 text-faint text-xs">
      <span>{t.inOut(tokens(turn.input), tokens(turn.output))}</span>
      {turn.reasoning > 0 && <span>{t.reasoning(tokens(turn.reasoning))}</span>}
      {turn.cachedPercent !== null && <span>{t.cached(turn.cachedPercent)}</span>}
      <span>{turn.unpriced ? texts.panels.trace.unpriced : money(turn.costMicros)}</span>
    </span>
  );
}
