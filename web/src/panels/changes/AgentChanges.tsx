// What the agent changed, whoever of its tools wrote it: a tree of files with marks, hunks to apply, reject or take
// back, comments. Live: the feed says when to look again.

import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { FileDiff } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import type { ChangeShown } from "@/api/schema";
import { useChat } from "@/feed/hooks";
import { Empty } from "@/panels/Empty";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { toast } from "@/ui/view";
import { fileOf, MARKS, treeOf, uncommented, type Verb, verbsOf } from "./agentFiles";
import { useComments } from "./comments";
import { Diff } from "./Diff";

const t = texts.panels.changes;

// More than anybody looks through; the rest is in the repository's own difference.
const PAGES = 10;

async function allChanges(chatId: string, signal: AbortSignal) {
  const path = { chat_id: chatId };
  const page = (cursor?: string) =>
    call("GET /chats/{chat_id}/changes", { path, query: { since: "base", cursor }, signal });
  const first = await page();
  const items = [...first.items];
  let cursor = first.next_cursor;
  for (let number = 1; cursor != null && number < PAGES; number++) {
    const more = await page(cursor);
    items.push(...more.items);
    cursor = more.next_cursor;
  }
  return { ...first, items };
}

export function useChanges(chatId: string) {
  const moment = useChat(state => state.changes);
  const query = useQuery({
    queryKey: ["changes", chatId],
    queryFn: ({ signal }) => allChanges(chatId, signal),
    refetchOnMount: "always",
    retry: false,
  });
  const { refetch } = query;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the moment is when to look again
  useEffect(() => void refetch(), [refetch, moment]);
  return query;
}

interface Props {
  chatId: string;
  split: boolean;
  items: readonly ChangeShown[];
  onDone: () => void;
}

export function AgentChanges({ chatId, split, items, onDone }: Props) {
  const [read, setRead] = useState<Readonly<Record<string, ChangeShown>>>({});
  const files = useMemo(
    () =>
      items.map(item => fileOf(read[item.id]?.diff_hash === item.diff_hash ? (read[item.id] ?? item) : item)),
    [items, read],
  );
  const byId = useMemo(() => new Map(items.map(item => [item.id, item])), [items]);
  const decide = async (id: string, hunk: number | null, verb: Verb) => {
    const item = byId.get(id);
    if (item === undefined) return;
    const chosen = { id: item.id, diff_hash: item.diff_hash, ...(hunk !== null && { hunks: [hunk] }) };
    try {
      await decided(chatId, verb, { changes: [chosen] });
    } catch (error) {
      toast(textOf(error), "bad");
    }
    onDone();
  };
  const show = async (id: string) => {
    try {
      const item = await call("GET /chats/{chat_id}/changes/{change_id}", {
        path: { chat_id: chatId, change_id: id },
        query: { since: "base" },
      });
      setRead(before => ({ ...before, [id]: item }));
    } catch (error) {
      toast(textOf(error), "bad");
    }
  };
  if (files.length === 0) return <Empty icon={FileDiff} title={t.empty} hint={t.agentEmptyHint} />;
  return (
    <>
      <Waiting chatId={chatId} items={items} onDone={onDone} />
      <FileTree items={items} />
      <Diff
        chatId={chatId}
        files={files}
        split={split}
        verbsOf={id => verbsOf(byId.get(id)?.state ?? "reverted")}
        stateOf={id => byId.get(id)?.state ?? null}
        onShow={id => void show(id)}
        onDecide={(id, hunk, verb) => void decide(id, hunk, verb)}
      />
    </>
  );
}

type Body =
  | { all: true }
  | { paths: string[] }
  | { changes: { id: string; diff_hash: string; hunks?: number[] }[] };

/** Does it; what could not be merged is told. */
async function decided(chatId: string, verb: Verb, body: Body): Promise<void> {
  const path = { chat_id: chatId };
  const done =
    verb === "apply"
      ? await call("POST /chats/{chat_id}/changes/apply", { path, body })
      : verb === "reject"
        ? await call("POST /chats/{chat_id}/changes/reject", { path, body })
        : await call("POST /chats/{chat_id}/changes/undo", { path, body });
  for (const one of done.conflicts) toast(t.conflict(one.path, one.reason), "attention");
}

/** Everything that waits, at once; or all but what was commented on. */
function Waiting({ chatId, items, onDone }: Pick<Props, "chatId" | "items" | "onDone">) {
  const comments = useComments(all => all[chatId]);
  const waiting = items.filter(item => verbsOf(item.state).includes("apply"));
  if (waiting.length === 0) return null;
  const quiet = uncommented(waiting, comments ?? []);
  const act = async (verb: Verb, body: Body) => {
    try {
      await decided(chatId, verb, body);
    } catch (error) {
      toast(textOf(error), "bad");
    }
    onDone();
  };
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2 px-3 pb-2 text-xs">
      <span className="min-w-0 flex-1 text-soft">{t.waiting(waiting.length)}</span>
      {quiet.length > 0 && quiet.length < waiting.length && (
        <Button small onClick={() => void act("apply", { paths: quiet })}>
          {t.applyQuiet}
        </Button>
      )}
      <Button small onClick={() => void act("reject", { all: true })}>
        {t.rejectAll}
      </Button>
      <Button small weight="main" onClick={() => void act("apply", { all: true })}>
        {t.applyAll}
      </Button>
    </div>
  );
}

/** Where what was changed lies; choosing a file leads to it. */
function FileTree({ items }: { items: readonly ChangeShown[] }) {
  const rows = useMemo(() => treeOf(items), [items]);
  return (
    <nav aria-label={t.tree} className="max-h-40 shrink-0 overflow-y-auto border-line border-y py-1">
      <ul className="text-xs">
        {rows.map(row => (
          <li key={`${row.path} ${row.item?.id}`} style={{ paddingLeft: `${0.75 + row.depth * 0.75}rem` }}>
            {row.item === null ? (
              <span className="block py-0.5 font-mono text-faint">{row.name}</span>
            ) : (
              <button
                type="button"
                className="tabular flex w-full items-center gap-2 rounded px-1 py-0.5 pr-3 text-left font-mono hover:bg-hover max-sm:min-h-10"
                onClick={() => leadTo(row.path)}
              >
                <span
                  title={t.operations[row.item.operation]}
                  className={clsx(
                    row.item.operation === "create"
                      ? "text-good"
                      : row.item.operation === "delete"
                        ? "text-bad"
                        : "text-soft",
                  )}
                >
                  {MARKS[row.item.operation]}
                </span>
                <span className="min-w-0 flex-1 truncate">{row.name}</span>
                {row.item.advice.length > 0 && (
                  <span className="text-warn" title={row.item.advice.join(" ")}>
                    {t.advice}
                  </span>
                )}
                {row.item.state !== "applied" && (
                  <span className="text-soft">{t.states[row.item.state]}</span>
                )}
              </button>
            )}
          </li>
        ))}
      </ul>
    </nav>
  );
}

function leadTo(path: string): void {
  for (const head of document.querySelectorAll<HTMLElement>("[data-file]")) {
    if (head.dataset.file !== path) continue;
    head.scrollIntoView({ block: "start" });
    head.querySelector<HTMLElement>("button")?.focus();
    return;
  }
}
