// What the agent changed in its workspace since the last commit: live, file by file, with comments that go back
// to it, and marks where others changed the same.

import { useQuery } from "@tanstack/react-query";
import { Columns2, FileDiff, FolderX, GitBranch, Rows2, Send } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { call, newKey } from "@/api/client";
import { textOf } from "@/api/problem";
import type { OpenChat } from "@/feed/chats";
import { useChat } from "@/feed/hooks";
import { isWorking } from "@/feed/state";
import { Empty } from "@/panels/Empty";
import type { PanelProps } from "@/panels/registry";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { toast } from "@/ui/view";
import { AgentChanges, useChanges } from "./AgentChanges";
import { Collisions } from "./Collisions";
import { dropComments, messageOf, useComments } from "./comments";
import { Diff } from "./Diff";
import { GitBar } from "./GitBar";
import { parseDiff } from "./parse";
import { Worktrees } from "./Worktrees";

const t = texts.panels.changes;
const WHILE_WORKING_MS = 5000;

export default function ChangesPanel({ chatId }: PanelProps) {
  const known = useChat(state => state.chat !== null);
  const workspaceId = useChat(state => state.chat?.workspace_id ?? null);
  const [view, setView] = useState<"agent" | "commit">("agent");
  const [split, setSplit] = useState(false);
  if (!known) return null;
  const tabs = <ViewTabs view={view} onView={setView} split={split} onSplit={setSplit} />;
  if (view === "agent") return <ByAgent chatId={chatId} split={split} tabs={tabs} />;
  if (workspaceId === null) {
    return (
      <div className="flex h-full flex-col">
        {tabs}
        <Empty icon={FolderX} title={t.noWorkspace} hint={t.noWorkspaceHint} />
      </div>
    );
  }
  return <Workspace chatId={chatId} workspaceId={workspaceId} split={split} tabs={tabs} />;
}

interface TabsProps {
  view: "agent" | "commit";
  onView: (view: "agent" | "commit") => void;
  split: boolean;
  onSplit: (split: boolean) => void;
}

/** By the agent, or since the last commit; unified, or side by side. */
function ViewTabs({ view, onView, split, onSplit }: TabsProps) {
  return (
    <div className="flex h-10 shrink-0 items-center gap-1 pr-2 pl-3 text-xs">
      {(["agent", "commit"] as const).map(one => (
        <button
          key={one}
          type="button"
          aria-pressed={view === one}
          onClick={() => onView(one)}
          className="rounded-md px-2 py-1 text-soft hover:bg-hover aria-pressed:bg-sunken aria-pressed:font-medium aria-pressed:text-text"
        >
          {t.views[one]}
        </button>
      ))}
      <span className="flex-1" />
      <IconButton small icon={Rows2} label={t.unified} aria-pressed={!split} onClick={() => onSplit(false)} />
      <IconButton small icon={Columns2} label={t.split} aria-pressed={split} onClick={() => onSplit(true)} />
    </div>
  );
}

function ByAgent({ chatId, split, tabs }: { chatId: string; split: boolean; tabs: ReactNode }) {
  const query = useChanges(chatId);
  const items = query.data?.items;
  return (
    <div className="flex h-full flex-col">
      {tabs}
      {items !== undefined ? (
        <AgentChanges chatId={chatId} split={split} items={items} onDone={() => void query.refetch()} />
      ) : query.error !== null ? (
        <Unreadable error={query.error} />
      ) : (
        <p className="p-4 text-faint text-sm">{texts.common.loading}</p>
      )}
      <SendComments chatId={chatId} />
    </div>
  );
}

interface WorkspaceProps {
  chatId: string;
  workspaceId: string;
  split: boolean;
  tabs: ReactNode;
}

function Workspace({ chatId, workspaceId, split, tabs }: WorkspaceProps) {
  const working = useChat(state => isWorking(state.chat));
  const query = useQuery({
    queryKey: ["diff", workspaceId],
    queryFn: ({ signal }) =>
      call("GET /workspaces/{workspace_id}/diff", { path: { workspace_id: workspaceId }, signal }),
    // Commands in the background change files without a word.
    refetchInterval: working ? WHILE_WORKING_MS : false,
    refetchOnMount: "always",
    retry: false,
  });
  const moment = useChat(writes);
  const { refetch } = query;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the moment is when to look again
  useEffect(() => void refetch(), [refetch, moment]);
  const text = query.data?.diff;
  const files = useMemo(() => (text === undefined ? null : parseDiff(text)), [text]);
  if (query.data?.git === false || files === null) {
    return (
      <div className="flex h-full flex-col">
        {tabs}
        {query.data?.git === false ? (
          <NoGit />
        ) : query.error !== null ? (
          <Unreadable error={query.error} />
        ) : (
          <p className="p-4 text-faint text-sm">{texts.common.loading}</p>
        )}
      </div>
    );
  }
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  return (
    <div className="flex h-full flex-col">
      {tabs}
      <div className="tabular flex shrink-0 items-center gap-2 px-3 pb-2 text-xs">
        <span className="font-medium">{t.files(files.length)}</span>
        {files.length > 0 && (
          <span>
            <span className="text-good">{`+${added}`}</span> <span className="text-bad">{`−${removed}`}</span>
          </span>
        )}
      </div>
      <Collisions files={files} />
      {files.length === 0 ? (
        <Empty icon={FileDiff} title={t.empty} hint={t.emptyHint} />
      ) : (
        <Diff chatId={chatId} files={files} split={split} />
      )}
      {query.data?.truncated && (
        <p className="border-line border-t px-3 py-1.5 text-warn text-xs">{t.truncated}</p>
      )}
      <Worktrees workspaceId={workspaceId} onDone={() => void refetch()} />
      {files.length > 0 && <GitBar chatId={chatId} workspaceId={workspaceId} onDone={() => void refetch()} />}
      <SendComments chatId={chatId} />
    </div>
  );
}

/** Moves on whenever something may have been written. */
function writes(state: OpenChat): string {
  return `${state.results.size} ${state.chat?.status}`;
}

function Unreadable({ error }: { error: unknown }) {
  return <Empty icon={GitBranch} title={t.unreadable} hint={textOf(error)} />;
}

function NoGit() {
  return (
    <Empty icon={GitBranch} title={t.noGit} hint={t.noGitHint}>
      <code className="rounded bg-sunken px-2 py-1 font-mono text-xs">
        git init && git add -A && git commit
      </code>
    </Empty>
  );
}

function SendComments({ chatId }: { chatId: string }) {
  const comments = useComments(all => all[chatId]) ?? [];
  const archived = useChat(state => state.chat?.archived ?? true);
  const [sending, setSending] = useState(false);
  if (comments.length === 0) return null;
  const send = async () => {
    setSending(true);
    try {
      const content = messageOf(comments, t.message);
      await call("POST /chats/{chat_id}/messages", {
        path: { chat_id: chatId },
        body: { content },
        once: newKey(),
      });
      dropComments(chatId);
      toast(t.sent, "good");
    } catch (error) {
      toast(textOf(error), "bad");
    } finally {
      setSending(false);
    }
  };
  return (
    <footer className="flex shrink-0 items-center justify-between gap-2 border-line border-t bg-sunken px-3 py-2">
      <span className="text-soft text-xs">{t.comments(comments.length)}</span>
      <Button weight="main" small icon={Send} busy={sending} disabled={archived} onClick={() => void send()}>
        {t.send}
      </Button>
    </footer>
  );
}
