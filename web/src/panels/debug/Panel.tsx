// The debug record: what models were asked and what they answered. Runs, newest first; one opened shows its
// steps and their HTTP requests.

import { useQuery } from "@tanstack/react-query";
import { Bug, ChevronRight } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { change } from "@/actions/chat";
import { call } from "@/api/client";
import type { DebugRun } from "@/api/schema";
import { useChat } from "@/feed/hooks";
import { Empty } from "@/panels/Empty";
import type { PanelProps } from "@/panels/registry";
import { Unread } from "@/panels/Unread";
import { RecordAll } from "@/settings/RecordAll";
import { useChange } from "@/settings/useChange";
import { texts } from "@/texts";
import { SwitchField } from "@/ui/Field";
import { moment, tokens } from "@/ui/format";
import { RunView } from "./RunView";

const t = texts.panels.debug;
const PAGE = 100;

export default function DebugPanel({ chatId }: PanelProps) {
  const told = useChat(state => state.debugRuns);
  const caughtUp = useChat(state => state.caughtUp);
  const read = useQuery({
    queryKey: ["debug", chatId, caughtUp],
    queryFn: ({ signal }) =>
      call("GET /chats/{chat_id}/debug/runs", { path: { chat_id: chatId }, query: { limit: PAGE }, signal }),
  });
  const runs = useMemo(() => together(read.data?.items ?? [], told.values()), [read.data, told]);
  const [open, setOpen] = useState<string | null>(null);
  const left = useRef<string | null>(null);
  const chosen = runs.find(run => run.id === open);
  if (chosen) {
    const back = () => {
      left.current = chosen.id;
      setOpen(null);
    };
    return <RunView chatId={chatId} run={chosen} onBack={back} />;
  }
  return (
    <div className="flex h-full flex-col gap-3 p-3">
      <Switches chatId={chatId} />
      {read.isError && <Unread why={read.error} onRetry={() => void read.refetch()} />}
      {runs.length === 0 && !read.isPending && <Empty icon={Bug} title={t.empty} hint={t.emptyHint} />}
      <ul className="flex flex-col divide-y divide-line">
        {runs.map(run => (
          <li key={run.id}>
            <button
              type="button"
              // Back from it, one goes on where one was.
              ref={button => {
                if (left.current !== run.id) return;
                left.current = null;
                button?.focus();
              }}
              onClick={() => setOpen(run.id)}
              className="flex w-full items-center gap-1 rounded-md py-2 pr-1 pl-2 text-left hover:bg-hover max-sm:min-h-11"
            >
              <span className="flex min-w-0 flex-1 flex-col gap-0.5">
                <span className="flex w-full items-baseline gap-2 text-sm">
                  <span className="shrink-0 font-medium">{nameOf(run)}</span>
                  <span className="min-w-0 flex-1 truncate text-soft">{run.summary.first_message}</span>
                  <Status status={run.status} />
                </span>
                <span className="tabular text-faint text-xs">
                  {moment(run.started_at)} · {run.model ?? "–"} · {t.steps(run.summary.steps)} ·{" "}
                  {t.used(tokens(run.summary.usage.total))}
                </span>
              </span>
              <ChevronRight aria-hidden className="size-4 shrink-0 text-faint" />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function nameOf(run: DebugRun): string {
  return run.kind === "chat_turn" ? t.turn(run.turn) : t.kinds[run.kind];
}

export function Status({ status }: { status: DebugRun["status"] }) {
  const look = {
    in_progress: "text-accent-text",
    interrupted: "text-warn",
    error: "text-bad",
    completed: "text-good",
  };
  return <span className={`shrink-0 text-xs ${look[status]}`}>{t.statuses[status]}</span>;
}

function Switches({ chatId }: { chatId: string }) {
  const on = useChat(state => state.chat?.debug ?? false);
  const forChat = useChange((debug: boolean) => change({ id: chatId }, { debug }), { stale: [] });
  return (
    <div className="flex flex-col gap-2 border-line border-b pb-3">
      <SwitchField
        label={t.forChat}
        hint={t.nextTurn}
        checked={on}
        onValue={value => forChat.mutate(value)}
      />
      <RecordAll />
    </div>
  );
}

/** What was told is newer than what was read. */
function together(read: readonly DebugRun[], told: Iterable<DebugRun>): DebugRun[] {
  const all = new Map(read.map(run => [run.id, run]));
  for (const run of told) all.set(run.id, run);
  return [...all.values()].sort((one, other) => other.started_at.localeCompare(one.started_at));
}
