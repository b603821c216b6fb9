// One span: what went in and came out, what it cost, and what changed in the request since the step before.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Bot, MessageSquare, X } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { call } from "@/api/client";
import type { Message, Span } from "@/api/schema";
import { useChat } from "@/feed/hooks";
import { useToMessage } from "@/panels/toMessage";
import { Value } from "@/panels/Value";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";
import { duration, exactMoment, money, tokens } from "@/ui/format";
import { CacheBar, percent, segmentsText } from "./CacheBar";
import { cacheOf } from "./cache";
import { ICONS } from "./looks";
import { RequestDiff } from "./RequestDiff";
import { missOf, type Since, since } from "./since";
import { useAsked } from "./useAsked";

const t = texts.panels.trace;

interface Props {
  chatId: string;
  span: Span;
  spans: readonly Span[];
  onClose: () => void;
}

export function Details({ chatId, span: known, spans, onClose }: Props) {
  const whole = useQuery({
    queryKey: ["span", chatId, known.id, known.finished_at],
    queryFn: ({ signal }) =>
      call("GET /chats/{chat_id}/trace/{span_id}", { path: { chat_id: chatId, span_id: known.id }, signal }),
    enabled: known.truncated,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const span = whole.data ?? known;
  const toMessage = useToMessage(chatId);
  const Icon = ICONS[span.kind];
  const agentId = agentOf(span);
  const attempts = span.kind === "model_call" || span.kind === "compaction";
  return (
    <section
      aria-label={t.details}
      className="flex max-h-[55%] shrink-0 flex-col border-line-strong/60 border-t bg-canvas"
    >
      <header className="flex h-9 shrink-0 items-center gap-2 border-line border-b pr-1 pl-3">
        <Icon aria-hidden className="size-4 text-faint" />
        <h2 className="min-w-0 flex-1 truncate font-medium text-sm">
          <span className="font-normal text-soft">{t.kinds[span.kind]}</span> {span.name}
        </h2>
        {agentId && (
          <Link
            to="/chats/$chatId"
            params={{ chatId: agentId }}
            className="inline-flex h-7 shrink-0 items-center gap-1.5 rounded-md px-2 text-soft text-xs hover:bg-hover hover:text-text max-sm:min-h-10"
          >
            <Bot aria-hidden className="size-3.5" />
            {t.toAgent}
          </Link>
        )}
        {span.message_id && (
          <IconButton
            small
            icon={MessageSquare}
            label={t.toMessage}
            onClick={() => toMessage(span.message_id ?? "")}
          />
        )}
        <IconButton small icon={X} label={texts.common.close} onClick={onClose} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div tabIndex={0} className="flex min-h-0 flex-col gap-3 overflow-y-auto p-3">
        <Facts span={span} />
        {span.failure && (
          <p className="rounded-md bg-bad-soft px-2.5 py-1.5 text-bad text-sm">
            {span.failure.message}
            {span.failure.detail && <span className="block text-xs">{span.failure.detail}</span>}
          </p>
        )}
        {span.kind === "model_call" && <Changed span={span} spans={spans} />}
        {span.kind === "model_call" ? (
          <Exchange span={span} spans={spans} />
        ) : (
          <>
            {!attempts && <Value title={t.input} value={span.input} />}
            <Value title={t.output} value={span.output} />
          </>
        )}
        {known.truncated && !whole.data && (
          <p className="text-faint text-xs">{whole.isPending ? t.loadingAll : t.cut}</p>
        )}
      </div>
    </section>
  );
}

/** What a model call was given since the one before, and what it answered: both are messages of the chat. */
function Exchange({ span, spans }: { span: Span; spans: readonly Span[] }) {
  const messages = useChat(state => state.messages);
  const added = useMemo(() => since(span, spans, messages).added, [span, spans, messages]);
  const given = added.flatMap(one => messages.find(message => message.id === one.id)?.parts ?? []);
  const answer = messages.find(message => message.id === span.message_id && message.role === "assistant");
  return (
    <>
      <Value title={t.newInput} value={given.length === 0 ? null : partsShown(given)} />
      <Value title={t.output} value={span.output ?? (answer ? partsShown(answer.parts) : null)} />
    </>
  );
}

/** One text as it is; anything else by its parts. */
function partsShown(parts: Message["parts"]): unknown {
  const [only] = parts;
  return parts.length === 1 && only?.type === "text" ? only.text : parts;
}

function Facts({ span }: { span: Span }) {
  const { usage } = span;
  const goesOn = useAsked().has(span.id) ? texts.panels.outcomes.waiting : texts.panels.outcomes.running;
  const share = cacheOf(usage);
  const tried = attemptsOf(span.input);
  return (
    <dl className="tabular grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-xs">
      {span.started_at && <Fact title={t.started}>{exactMoment(span.started_at)}</Fact>}
      {span.duration_ms !== null && (
        <Fact title={t.lasted}>
          {span.estimated ? "≈ " : ""}
          {duration(span.duration_ms)}
        </Fact>
      )}
      <Fact title={t.outcome}>
        {span.outcome === null ? goesOn : (texts.panels.outcomes[span.outcome] ?? span.outcome)}
      </Fact>
      {tried && (
        <Fact title={t.attempts}>
          {tried.attempts}
          {tried.failures.length > 0 && `, ${t.failedAttempts(tried.failures.join(", "))}`}
        </Fact>
      )}
      {usage && usage.total > 0 && (
        <Fact title={t.usage}>
          {t.used(tokens(usage.input), tokens(usage.output))}
          {usage.reasoning > 0 && `, ${t.reasoning(tokens(usage.reasoning))}`}
          {usage.tokens_per_second !== null && `, ${t.speed(tokens(Math.round(usage.tokens_per_second)))}`}
        </Fact>
      )}
      {usage && usage.total > 0 && (
        <Fact title={t.cost}>{usage.unpriced_steps > 0 ? t.unpriced : money(usage.cost_usd_micros)}</Fact>
      )}
      {share && (
        <Fact title={t.cache}>
          <span className="flex flex-wrap items-center gap-x-2">
            <CacheBar share={share} className="w-24" />
            {`${percent(share)} %: ${segmentsText(share)}`}
          </span>
        </Fact>
      )}
      {span.cache?.reason && (
        <Fact title={t.miss}>
          {t.reasons[span.cache.reason]}
          {span.cache.detail && `: ${span.cache.detail}`}
        </Fact>
      )}
      {span.asked_at && span.started_at && span.asked_at < span.started_at && (
        <Fact title={t.asked}>{exactMoment(span.asked_at)}</Fact>
      )}
      {span.approved_by && (
        <Fact title={t.approvedBy}>
          {span.approved_by.by === "person" ? t.byPerson : t.byRule(span.approved_by.rule ?? "")}
          {span.approved_by.note && `: ${span.approved_by.note}`}
        </Fact>
      )}
    </dl>
  );
}

function Fact({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-faint">{title}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}

function Changed({ span, spans }: { span: Span; spans: readonly Span[] }) {
  const messages = useChat(state => state.messages);
  const changed = useMemo(() => since(span, spans, messages), [span, spans, messages]);
  const miss = missOf(span, changed);
  return (
    <div className="flex flex-col gap-1 text-xs">
      <h3 className="font-medium text-soft">
        {t.since}
        {changed.tokens !== null && (
          <span className="tabular ml-2 font-normal text-faint">
            {t.sinceTokens(`${changed.tokens < 0 ? "−" : "+"}${tokens(Math.abs(changed.tokens))}`)}
          </span>
        )}
      </h3>
      {changed.before === null && <p className="text-soft">{t.sinceFirst}</p>}
      {changed.model && <p>{t.sinceModel(changed.model.from, changed.model.to)}</p>}
      {changed.compacted && <p>{t.sinceCompacted}</p>}
      <RequestDiff
        span={span}
        otherwise={
          changed.unknown ? <p className="text-soft">{t.sinceUnknown}</p> : <Added changed={changed} />
        }
      />
      {miss && (
        <p className="rounded-md bg-warn-soft px-2.5 py-1.5 text-warn">
          {miss === "idle" ? t.misses.idle(duration(changed.idleMs ?? 0)) : t.misses[miss]}
        </p>
      )}
    </div>
  );
}

function Added({ changed }: { changed: Since }) {
  if (changed.before === null || changed.unknown) return null;
  if (changed.added.length === 0) return <p className="text-soft">{t.sinceNothing}</p>;
  return (
    <ul className="flex flex-col gap-0.5">
      {changed.added.map(one => (
        <li key={one.id} className="flex gap-2 rounded bg-good-soft px-2 py-0.5">
          <span aria-hidden className="text-good">
            +
          </span>
          <span className="shrink-0 text-soft">{t.roles[one.role]}</span>
          <span className="min-w-0 truncate">{one.text}</span>
        </li>
      ))}
    </ul>
  );
}

function attemptsOf(input: unknown): { attempts: number; failures: string[] } | null {
  if (typeof input !== "object" || input === null || !("attempts" in input)) return null;
  const { attempts, failures } = input as { attempts: unknown; failures?: unknown };
  if (typeof attempts !== "number") return null;
  return { attempts, failures: Array.isArray(failures) ? failures.map(String) : [] };
}

function agentOf(span: Span): string | null {
  if (span.kind !== "agent" || typeof span.input !== "object" || span.input === null) return null;
  const { agent_id } = span.input as { agent_id?: unknown };
  return typeof agent_id === "string" ? agent_id : null;
}
