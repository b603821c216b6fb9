// Bars: a column a day, a line for each model or chat.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call } from "@/api/client";
import { useChats } from "@/chats/store";
import { texts } from "@/texts";
import { money, tokens } from "@/ui/format";
import { draw } from "@/ui/view";
import { cachedPercent, type DayBar, type Measure, type Ranked } from "./bars";

const t = texts.panels.usage;

const written = (amount: number, measure: Measure) => (measure === "tokens" ? tokens(amount) : money(amount));

const HIGH = 100;
const STEP = 10;
const GAP = 2;

export function Days({ bars, measure }: { bars: readonly DayBar[]; measure: Measure }) {
  const most = Math.max(0, ...bars.map(bar => bar.amount));
  const total = bars.reduce((sum, bar) => sum + bar.amount, 0);
  const [first, last] = [bars[0], bars.at(-1)];
  if (most === 0 || first === undefined || last === undefined)
    return <p className="text-soft text-sm">{t.empty}</p>;
  const told = `${t.byDay}: ${t.total} ${written(total, measure)}`;
  return (
    <figure className="flex flex-col gap-1">
      <figcaption className="tabular flex justify-between text-faint text-xs">
        <span>{told}</span>
        <span>{written(most, measure)}</span>
      </figcaption>
      <svg
        role="img"
        aria-label={told}
        viewBox={`0 0 ${bars.length * STEP} ${HIGH}`}
        preserveAspectRatio="none"
        className="h-28 w-full border-line border-y"
      >
        {bars.map((bar, index) => (
          <g key={bar.day} className="group">
            <title>{t.day(dayName(bar.day), written(bar.amount, measure), bar.steps)}</title>
            <rect
              x={index * STEP}
              y={0}
              width={STEP}
              height={HIGH}
              className="fill-transparent group-hover:fill-hover"
            />
            {bar.amount > 0 && (
              <rect
                x={index * STEP + GAP / 2}
                y={HIGH - Math.max(1, bar.share * HIGH)}
                width={STEP - GAP}
                height={Math.max(1, bar.share * HIGH)}
                className="fill-accent"
              />
            )}
          </g>
        ))}
      </svg>
      <div className="tabular flex justify-between text-faint text-xs">
        <span>{dayName(first.day)}</span>
        <span>{dayName(last.day)}</span>
      </div>
    </figure>
  );
}

function dayName(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString("en", {
    day: "numeric",
    month: "short",
    timeZone: "UTC",
  });
}

interface RankingProps {
  title: string;
  lines: readonly Ranked[];
  measure: Measure;
  name: (key: string) => ReactNode;
}

export function Ranking({ title, lines, measure, name }: RankingProps) {
  return (
    <section className="flex flex-col gap-1">
      <h3 className="font-medium text-soft text-xs">{title}</h3>
      <ul className="flex flex-col">
        {lines.map(line => (
          <li key={line.key} className="flex flex-col gap-0.5 py-1">
            <span className="tabular flex items-baseline gap-2 text-sm">
              <span className="min-w-0 flex-1 truncate">{name(line.key)}</span>
              <Cached line={line} />
              <span className="shrink-0">{written(line.amount, measure)}</span>
            </span>
            <span aria-hidden className="h-1.5 overflow-hidden rounded-full bg-sunken">
              <span
                className="block h-full rounded-full bg-accent"
                style={{ width: `${line.share * 100}%` }}
              />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Cached({ line }: { line: Ranked }) {
  const percent = cachedPercent(line.usage);
  return percent === null ? null : (
    <span className="shrink-0 text-faint text-xs">{t.percentCached(percent)}</span>
  );
}

export function ChatName({ id }: { id: string }) {
  const known = useChats(state => state.chats.get(id));
  const read = useQuery({
    queryKey: ["chat", id],
    queryFn: ({ signal }) => call("GET /chats/{chat_id}", { path: { chat_id: id }, signal }),
    enabled: known === undefined,
    retry: false,
  });
  const chat = known ?? read.data;
  if (chat === undefined) return read.isError ? t.unknownChat : texts.common.loading;
  return (
    <Link
      to="/chats/$chatId"
      params={{ chatId: id }}
      onClick={() => draw(null)}
      className="underline-offset-2 hover:underline"
    >
      {chat.title || texts.chats.untitled}
    </Link>
  );
}
