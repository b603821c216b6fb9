// One debug run: its steps, what each was asked that the one before was not, and its HTTP requests.

import { useInfiniteQuery } from "@tanstack/react-query";
import { ArrowLeft, Check, ChevronRight, Copy, Download } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import { save } from "@/actions/chat";
import { call } from "@/api/client";
import type { DebugAttempt, DebugRun, DebugStep } from "@/api/schema";
import { CopyButton, useCopy } from "@/panels/CopyButton";
import { Unread } from "@/panels/Unread";
import { Value } from "@/panels/Value";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { duration, exactMoment, tokens } from "@/ui/format";
import { ScrolledText } from "@/ui/ScrolledText";
import { tip } from "@/ui/Tips";
import { curlOf } from "./curl";
import { nameOf, Status } from "./Panel";
import { type Piece, piecesOf, requestDiff } from "./requestDiff";

const t = texts.panels.debug;

export function RunView({ chatId, run, onBack }: { chatId: string; run: DebugRun; onBack: () => void }) {
  const read = useInfiniteQuery({
    queryKey: ["debug", chatId, run.id, run.status, run.summary.steps],
    queryFn: ({ signal, pageParam }) =>
      call("GET /chats/{chat_id}/debug/runs/{debug_run_id}", {
        path: { chat_id: chatId, debug_run_id: run.id },
        query: { first_step: pageParam },
        signal,
      }),
    initialPageParam: 1,
    getNextPageParam: page => page.next_step,
  });
  const steps = useMemo(() => read.data?.pages.flatMap(page => page.steps) ?? [], [read.data]);
  const back = useRef<HTMLButtonElement>(null);
  // What was pressed to come here is gone.
  useEffect(() => back.current?.focus(), []);
  return (
    <section aria-label={t.run} className="flex flex-col gap-2 p-3">
      <header className="flex items-center gap-2">
        <IconButton ref={back} small icon={ArrowLeft} label={t.back} onClick={onBack} />
        <h2 className="min-w-0 flex-1 truncate font-medium text-sm">
          {nameOf(run)} <span className="font-normal text-soft">{run.summary.label}</span>
        </h2>
        <Status status={run.status} />
        <IconButton
          small
          icon={Download}
          label={t.download}
          onClick={() => save(asFile({ ...run, steps }), `debug-run-${run.id}.json`)}
        />
      </header>
      {read.isError && <Unread why={read.error} onRetry={() => void read.refetch()} />}
      {read.isPending && <p className="text-faint text-sm">{texts.common.loading}</p>}
      {steps.map((step, index) => (
        <Step key={step.number} step={step} before={steps[index - 1]} />
      ))}
      {read.hasNextPage && (
        <Button small onClick={() => void read.fetchNextPage()}>
          {t.moreSteps}
        </Button>
      )}
    </section>
  );
}

function Step({ step, before }: { step: DebugStep; before: DebugStep | undefined }) {
  const changed = useMemo(() => (before ? requestDiff(before, step) : null), [before, step]);
  return (
    <Fold
      title={
        <>
          <span className="font-medium">{t.step(step.number)}</span>
          <span className="text-faint text-xs">{t.operations[step.operation]}</span>
          <span className="tabular min-w-0 flex-1 truncate text-faint text-xs">
            {step.usage && t.used(tokens(step.usage.total))}
          </span>
          <Status status={step.status} />
        </>
      }
    >
      {step.error && (
        <p className="rounded-md bg-bad-soft px-2.5 py-1.5 text-bad text-sm">{step.error.message}</p>
      )}
      {changed && (
        <div className="flex flex-col gap-1">
          <h3 className="font-medium text-soft text-xs">{t.since}</h3>
          {changed.added.length + changed.removed.length === 0 && (
            <p className="text-soft text-xs">{t.sinceNothing}</p>
          )}
          <Pieces pieces={changed.removed} mark="−" look="bg-bad-soft" />
          <Pieces pieces={changed.added} mark="+" look="bg-good-soft" />
        </div>
      )}
      <Request step={step} />
      <Value title={t.response} value={step.response} />
      {step.attempts.length === 0 && <p className="text-faint text-xs">{t.noAttempts}</p>}
      {step.attempts.map(attempt => (
        <Attempt key={attempt.number} attempt={attempt} />
      ))}
    </Fold>
  );
}

/** Piece by piece, with the lines that texts have; as a whole it is copied. */
function Request({ step }: { step: DebugStep }) {
  const pieces = useMemo(() => piecesOf(step), [step]);
  if (pieces.length === 0) return null;
  return (
    <div className="flex flex-col gap-1">
      <div className="flex items-center justify-between text-soft">
        <h3 className="font-medium text-xs">{t.request}</h3>
        <CopyButton text={JSON.stringify(step.request, null, 2)} label={texts.panels.copy(t.request)} />
      </div>
      <Pieces pieces={pieces} look="bg-sunken" />
    </div>
  );
}

function Pieces({ pieces, mark, look }: { pieces: readonly Piece[]; mark?: string; look: string }) {
  return pieces.map((piece, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: they have no name, and never move
    <details key={index} className={`group/piece rounded px-2 py-0.5 text-xs ${look}`}>
      <summary className="flex cursor-pointer list-none items-center gap-1.5 max-sm:min-h-9">
        <ChevronRight aria-hidden className="size-3 shrink-0 group-open/piece:rotate-90" />
        {mark && <span aria-hidden>{mark}</span>}
        <span className="shrink-0 text-soft">{piece.label}</span>
        <span className="min-w-0 flex-1 truncate">{piece.brief}</span>
      </summary>
      <ScrolledText className="mt-1 max-h-72 pb-1 font-mono">{piece.text}</ScrolledText>
    </details>
  ));
}

function Attempt({ attempt }: { attempt: DebugAttempt }) {
  return (
    <Fold
      title={
        <>
          <span className="font-medium">{t.attempt(attempt.number)}</span>
          <span className="min-w-0 flex-1 truncate font-mono text-faint text-xs">{attempt.url}</span>
          <span className={`tabular text-xs ${attempt.status === "failed" ? "text-bad" : "text-good"}`}>
            {attempt.status_code ?? t.failed} · {duration(attempt.duration_ms)}
          </span>
        </>
      }
    >
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="tabular text-faint text-xs">{exactMoment(attempt.started_at)}</p>
        <CurlButton attempt={attempt} />
      </div>
      {attempt.error && (
        <p className="break-words rounded-md bg-bad-soft px-2.5 py-1.5 text-bad text-sm">{attempt.error}</p>
      )}
      <Value title={t.requestHeaders} value={attempt.request_headers} />
      <Value title={t.requestBody} value={parsed(attempt.request_body)} />
      <Value title={t.responseHeaders} value={attempt.response_headers} />
      <Value title={t.responseBody} value={parsed(attempt.response_body)} />
    </Fold>
  );
}

/** The command has a variable where the key was: it is said where one would look for it. */
function CurlButton({ attempt }: { attempt: DebugAttempt }) {
  const [copied, copy] = useCopy();
  return (
    <Button
      small
      icon={copied ? Check : Copy}
      onClick={() => void copy(curlOf(attempt))}
      {...tip(t.curlHint)}
    >
      {t.curl}
    </Button>
  );
}

function Fold({ title, children }: { title: ReactNode; children: ReactNode }) {
  return (
    <details className="group rounded-md border border-line">
      <summary className="flex cursor-pointer list-none items-center gap-2 px-2 py-1.5 text-sm hover:bg-hover max-sm:min-h-11">
        <ChevronRight aria-hidden className="size-3.5 shrink-0 text-faint group-open:rotate-90" />
        {title}
      </summary>
      <div className="flex flex-col gap-3 border-line border-t p-2">{children}</div>
    </details>
  );
}

/** As JSON where it is some. What was cut is shown as it is. */
function parsed(body: string | null): unknown {
  try {
    return body === null ? null : JSON.parse(body);
  } catch {
    return body;
  }
}

function asFile(value: unknown): Blob {
  return new Blob([JSON.stringify(value, null, 2)], { type: "application/json" });
}
