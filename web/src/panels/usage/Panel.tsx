// What was used and what it cost: of this chat, and of all by day, model and chat.

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import { useChat } from "@/feed/hooks";
import type { PanelProps } from "@/panels/registry";
import { texts } from "@/texts";
import { money, tokens } from "@/ui/format";
import { useNow } from "@/ui/now";
import { dayBars, type Measure, ranked } from "./bars";
import { ChatName, Days, Ranking } from "./Charts";
import { Choice } from "./Choice";

const t = texts.panels.usage;
const RANGES = [7, 30, 90] as const;
const MOST = 12;

export default function UsagePanel(_: PanelProps) {
  const [days, setDays] = useState<number>(30);
  const [measure, setMeasure] = useState<Measure>("tokens");
  return (
    <div className="flex flex-col gap-6 p-3">
      <ThisChat />
      <section aria-labelledby="usage-all" className="flex flex-col gap-4">
        <div className="flex flex-wrap items-center gap-2">
          <h2 id="usage-all" className="min-w-32 flex-1 font-medium text-sm">
            {t.everything}
          </h2>
          <Choice
            label={t.measure}
            value={measure}
            choices={[
              { value: "tokens", title: t.tokens },
              { value: "money", title: t.money },
            ]}
            onChoose={setMeasure}
          />
          <Choice
            label={t.range}
            value={days}
            choices={RANGES.map(value => ({ value, title: t.days(value) }))}
            onChoose={setDays}
          />
        </div>
        <ByDay days={days} measure={measure} />
        <By by="model" title={t.byModel} days={days} measure={measure} name={key => key || t.noModel} />
        <By by="chat" title={t.byChat} days={days} measure={measure} name={key => <ChatName id={key} />} />
      </section>
    </div>
  );
}

function ThisChat() {
  const usage = useChat(state => state.usage);
  if (usage === null) return null;
  return (
    <section aria-labelledby="usage-chat" className="flex flex-col gap-2">
      <h2 id="usage-chat" className="font-medium text-sm">
        {t.chat} <span className="font-normal text-faint text-xs">{t.chatHint}</span>
      </h2>
      <dl className="tabular grid grid-cols-3 gap-2">
        <Figure title={t.input} value={tokens(usage.input)}>
          {usage.cache_read > 0 && `${tokens(usage.cache_read)} ${t.cached}`}
        </Figure>
        <Figure title={t.output} value={tokens(usage.output)}>
          {usage.reasoning > 0 && `${tokens(usage.reasoning)} ${t.reasoning}`}
        </Figure>
        <Figure title={t.cost} value={money(usage.cost_usd_micros)}>
          {usage.unpriced_steps > 0 && t.unpriced(usage.unpriced_steps)}
        </Figure>
      </dl>
    </section>
  );
}

function Figure({ title, value, children }: { title: string; value: string; children: ReactNode }) {
  return (
    <div className="rounded-md bg-sunken px-3 py-2">
      <dt className="text-faint text-xs">{title}</dt>
      <dd className="font-semibold text-lg leading-tight">{value}</dd>
      <dd className="text-faint text-xs">{children}</dd>
    </div>
  );
}

type ReportBy = "day" | "model" | "chat";

function useReport(by: ReportBy, days: number) {
  return useQuery({
    queryKey: ["usage", by, days],
    queryFn: async ({ signal }) => (await call("GET /usage", { query: { by, days }, signal })).items,
    placeholderData: before => before,
  });
}

function ByDay({ days, measure }: { days: number; measure: Measure }) {
  const report = useReport("day", days);
  const now = useNow();
  if (report.error) return <p className="text-bad text-sm">{textOf(report.error)}</p>;
  const bars = dayBars(report.data ?? [], measure, days, now);
  return <Days bars={bars} measure={measure} />;
}

interface ByProps {
  by: ReportBy;
  title: string;
  days: number;
  measure: Measure;
  name: (key: string) => ReactNode;
}

function By({ by, title, days, measure, name }: ByProps) {
  const report = useReport(by, days);
  const lines = ranked(report.data ?? [], measure, MOST);
  return lines.length === 0 ? null : <Ranking title={title} lines={lines} measure={measure} name={name} />;
}
