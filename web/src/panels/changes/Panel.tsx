// What the agent changed in its workspace since the last commit: live, file by file, with comments that go back
// to it, and marks where others changed the same.

import { useQuery } from "@tanstack/react-query";
import { Columns2, FileDiff, FolderX, GitBranch, Rows2, Send } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
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
import { Collisions } from "./Collisions";
import { dropComments, messageOf, useComments } from "./comments";
import { Diff } from "./Diff";
import { parseDiff } from "./parse";

const t = texts.panels.changes;
const WHILE_WORKING_MS = 5000;

export default function ChangesPanel({ chatId }: PanelProps) {
  const known = useChat(state => state.chat !== null);
  const workspaceId = useChat(state => state.chat?.workspace_id ?? null);
  if (!known) return null;
  if (workspaceId === null) return <Empty icon={FolderX} title={t.noWorkspace} hint={t.noWorkspaceHint} />;
  return <Workspace chatId={chatId} workspaceId={workspaceId} />;
}

function Workspace({ chatId, workspaceId }: { chatId: string; workspaceId: string }) {
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
  const [split, setSplit] = useState(false);
  if (query.data?.git === false) return <NoGit />;
  if (query.error !== null && files === null) return <Unreadable error={query.error} />;
  if (files === null) return <p className="p-4 text-faint text-sm">{texts.common.loading}</p>;
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  return (
    <div className="flex h-full flex-col">
      <div className="tabular flex h-10 shrink-0 items-center gap-2 pr-2 pl-3 text-xs">
        <span className="font-medium">{t.files(files.length)}</span>
        {files.length > 0 && (
          <span>
            <span className="text-good">{`+${added}`}</span> <span className="text-bad">{`−${removed}`}</span>
          </span>
        )}
        <span className="flex-1" />
        <IconButton
          small
          icon={Rows2}
          label={t.unified}
          aria-pressed={!split}
          onClick={() => setSplit(false)}
        />
        <IconButton
          small
          icon={Columns2}
          label={t.split}
          aria-pressed={split}
          onClick={() => setSplit(true)}
        />
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
