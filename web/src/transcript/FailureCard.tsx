// Why a turn failed, and what to do about it.

import { Link } from "@tanstack/react-router";
import { CircleX } from "lucide-react";
import { useAction } from "@/actions/hooks";
import type { Failure } from "@/api/schema";
import { useChat } from "@/feed/hooks";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { ScrolledText } from "@/ui/ScrolledText";

const t = texts.transcript.failed;
/** What is put right in the settings of models and providers. */
const CONFIGURED = new Set(["auth", "config", "usage_limit", "disabled"]);

export function FailureCard() {
  const failure = useChat(state => (state.chat?.status === "error" ? state.chat.last_error : null));
  const retry = useAction("chat.retry");
  if (failure === null) return null;
  return (
    <section
      role="alert"
      data-testid="failure"
      className="mx-auto mb-3 flex w-[calc(100%-2rem)] max-w-[46rem] flex-col gap-2 rounded-lg border border-bad/50 bg-bad-soft p-3"
    >
      <h3 className="flex items-center gap-2 font-medium text-bad text-sm">
        <CircleX aria-hidden className="size-4 shrink-0" />
        {t.title}
      </h3>
      <p className="break-words text-sm">{failure.message}</p>
      {hintOf(failure) && <p className="text-soft text-sm">{hintOf(failure)}</p>}
      {failure.detail && failure.detail !== failure.message && (
        <details className="text-soft text-xs">
          <summary>{t.details}</summary>
          <ScrolledText className="mt-1 max-h-40 font-mono">{failure.detail}</ScrolledText>
        </details>
      )}
      <div className="flex flex-wrap gap-2">
        {retry.offered && (
          <Button small weight="main" onClick={retry.run}>
            {t.retry}
          </Button>
        )}
        {CONFIGURED.has(failure.kind) && (
          <Link
            to="/settings/$section"
            params={{ section: "models" }}
            className="inline-flex h-7 items-center rounded-md border bg-raised px-2 font-medium text-xs hover:bg-hover max-sm:min-h-10"
          >
            {t.settings}
          </Link>
        )}
      </div>
    </section>
  );
}

/** Pure: what to do about this kind of failure. */
export function hintOf(failure: Failure): string | null {
  return Object.hasOwn(t.hints, failure.kind) ? t.hints[failure.kind as keyof typeof t.hints] : null;
}
