// The rows of the waterfall: a turn with its totals and ruler, a span with its bar.

import clsx from "clsx";
import { ChevronRight, CircleAlert, Hourglass } from "lucide-react";
import { memo } from "react";
import type { Span, Usage } from "@/api/schema";
import { texts } from "@/texts";
import { duration, money, tokens } from "@/ui/format";
import { CacheBar } from "./CacheBar";
import { cacheOf, cacheTotal } from "./cache";
import { type Extent, isFailed, lasted, looksAt, type Row } from "./layout";
import { barOf, ICONS, TEXT } from "./looks";
import { drawn, placed, type Shown, ticks } from "./scale";

const t = texts.panels.trace;

const COLUMNS = "grid-cols-[minmax(10.5rem,42%)_minmax(0,1fr)]";
const TURN_PX = 48;
const RULER_PX = 18;
const SPAN_PX = 28;
const TICKS = 3;
/** In percent: further to the right a number would be cut. */
const READABLE_TO = 80;

export function heightOf(row: Row): number {
  if (row.kind === "span") return SPAN_PX;
  return row.open ? TURN_PX + RULER_PX : TURN_PX;
}

interface Props<K extends Row["kind"]> {
  row: Extract<Row, { kind: K }>;
  shown: Shown;
  now: number;
}

interface TurnProps extends Props<"turn"> {
  /** Of the whole turn; null: the server has not said yet, and what is loaded counts. */
  usage: Usage | null;
}

export const TurnRow = memo(function TurnRow({ row, shown, now, usage }: TurnProps) {
  const { group, open } = row;
  const { span, totals, extent } = group;
  const cached = usage === null ? cacheTotal(group.spans) : cacheOf(usage);
  const used = usage?.total ?? totals.tokens;
  const cost = usage?.cost_usd_micros ?? totals.costMicros;
  const asked = typeof span?.input === "string" ? span.input : "";
  const kind = span === null ? "" : (t.turnKinds[span.name] ?? span.name);
  const whole = drawn(group, now);
  return (
    <>
      <span className="flex h-12 min-w-0 items-start gap-1.5 pt-1.5 pr-3 pl-2">
        <Fold open={open} />
        <span className="min-w-0 flex-1">
          <span className="flex min-w-0 items-baseline gap-2">
            <span className="shrink-0 font-medium text-sm">{t.turn(group.turn)}</span>
            <span className="min-w-0 flex-1 truncate text-soft text-xs">{asked || kind}</span>
            {extent && <Lasted kind="turn" extent={extent} now={now} waits={group.waitsSince !== null} />}
          </span>
          <span className="tabular flex items-center gap-2.5 truncate text-faint text-xs">
            {cached && <CacheBar share={cached} className="w-8" />}
            <span>{t.spans(totals.spans)}</span>
            {used > 0 && <span>{texts.panels.tokens(tokens(used))}</span>}
            {cost > 0 && <span>{money(cost)}</span>}
            {totals.errors > 0 && <span className="font-medium text-bad">{t.errors(totals.errors)}</span>}
          </span>
        </span>
      </span>
      {open && whole && (
        <span aria-hidden className={clsx("grid h-[18px] border-line border-t", COLUMNS)}>
          <span />
          <span className="tabular relative mr-3 overflow-hidden text-faint text-xs leading-[18px]">
            {ticks(lasted(whole, now), shown, TICKS).map(tick => (
              <span
                key={tick.milliseconds}
                className="absolute whitespace-nowrap border-line border-l pl-1"
                style={{ left: `${tick.left}%` }}
              >
                {tick.left < READABLE_TO && duration(tick.milliseconds)}
              </span>
            ))}
          </span>
        </span>
      )}
    </>
  );
});

export const SpanRow = memo(function SpanRow({ row, shown, now }: Props<"span">) {
  const { node, group, depth, open } = row;
  const { span, extent, waits } = node;
  const Icon = ICONS[span.kind];
  const share = span.kind === "step" || span.kind === "compaction" ? cacheOf(span.usage) : null;
  const whole = drawn(group, now);
  const place = extent && whole ? placed(extent, whole, shown, now) : null;
  return (
    <span className={clsx("grid h-7 items-center", COLUMNS)}>
      <span className="flex min-w-0 items-center gap-1.5 pr-2" style={{ paddingLeft: 8 + depth * 12 }}>
        <Fold open={open} />
        {span.kind !== "step" && <Icon aria-hidden className="size-3.5 shrink-0 text-faint" />}
        <span className="min-w-0 flex-1 truncate text-xs">
          <span className="sr-only">{`${t.kinds[span.kind]}: `}</span>
          {span.name}
        </span>
        {isFailed(span) && span.kind !== "step" && (
          <CircleAlert
            aria-label={texts.panels.outcomes[span.outcome ?? "failed"] ?? span.outcome ?? undefined}
            className="size-3.5 shrink-0 text-bad"
          />
        )}
        {waits && span.kind !== "step" && (
          <Hourglass aria-label={texts.panels.outcomes.waiting} className="size-3.5 shrink-0 text-warn" />
        )}
        {share && <CacheBar share={share} className="w-8" />}
        {/* How long it waits is said once, at the turn. */}
        {extent && !waits && <Lasted kind={span.kind} extent={extent} now={now} />}
      </span>
      <span aria-hidden className="relative mr-3 h-full overflow-hidden border-line/60 border-l">
        {place && (
          <span
            className={clsx("absolute top-2 h-3 min-w-[3px] rounded-[3px]", barOf(span, waits))}
            style={{ left: `min(${place.left}%, 100% - 3px)`, width: `${place.width}%` }}
          />
        )}
      </span>
    </span>
  );
});

function Fold({ open }: { open: boolean | null }) {
  return (
    <span data-fold="" className="-my-1 flex shrink-0 py-1">
      <ChevronRight
        aria-hidden
        className={clsx(
          "size-4 text-faint transition-transform",
          open === null && "invisible",
          open && "rotate-90",
        )}
      />
    </span>
  );
}

interface LastedProps {
  kind: Span["kind"];
  extent: Extent;
  now: number;
  waits?: boolean;
}

/** A wait for a person is not slow. */
export function Lasted({ kind, extent, now, waits = false }: LastedProps) {
  const milliseconds = lasted(extent, now);
  return (
    <span
      className={clsx("tabular shrink-0 text-xs", waits ? "text-warn" : TEXT[looksAt(milliseconds, kind)])}
    >
      {duration(milliseconds)}
    </span>
  );
}
