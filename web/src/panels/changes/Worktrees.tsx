// Worktrees that agents made of this workspace's repository: brought in, kept, or removed.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { toast } from "@/ui/view";

const t = texts.panels.changes.worktrees;

export function Worktrees({ workspaceId, onDone }: { workspaceId: string; onDone: () => void }) {
  const query = useQuery({
    queryKey: ["worktrees", workspaceId],
    queryFn: ({ signal }) =>
      call("GET /workspaces/{workspace_id}/worktrees", { path: { workspace_id: workspaceId }, signal }),
    refetchOnMount: "always",
    retry: false,
  });
  // Removing takes what was not committed with it: it is asked for twice.
  const [asked, setAsked] = useState<string | null>(null);
  const items = query.data?.items ?? [];
  if (items.length === 0) return null;
  const act = async (id: string, verb: "merge" | "keep" | "remove") => {
    const path = { workspace_id: workspaceId, worktree_id: id };
    try {
      if (verb === "merge") {
        const done = await call("POST /workspaces/{workspace_id}/worktrees/{worktree_id}/merge", { path });
        for (const one of done.conflicts)
          toast(texts.panels.changes.conflict(one.path, one.reason), "attention");
        toast(t.merged(done.paths.length), "good");
      } else if (verb === "keep") {
        await call("POST /workspaces/{workspace_id}/worktrees/{worktree_id}/keep", { path });
      } else {
        await call("POST /workspaces/{workspace_id}/worktrees/{worktree_id}/remove", { path });
      }
    } catch (error) {
      toast(textOf(error), "bad");
    }
    void query.refetch();
    onDone();
  };
  return (
    <ul aria-label={t.label} className="flex shrink-0 flex-col border-line border-t py-1 text-xs">
      {items.map(one => (
        <li key={one.id} className="flex flex-wrap items-center gap-2 px-3 py-1">
          <span className="min-w-0 flex-1 truncate font-mono" title={one.path}>
            {one.branch}
          </span>
          <span className="text-soft">{one.kept ? t.kept : t.states[one.state]}</span>
          {one.state === "changed" && (
            <Button small onClick={() => void act(one.id, "merge")}>
              {t.merge}
            </Button>
          )}
          {!one.kept && one.state !== "gone" && (
            <Button small onClick={() => void act(one.id, "keep")}>
              {t.keep}
            </Button>
          )}
          <Button
            small
            onClick={() =>
              asked === one.id || one.state !== "changed" ? void act(one.id, "remove") : setAsked(one.id)
            }
          >
            {asked === one.id ? t.reallyRemove : t.remove}
          </Button>
        </li>
      ))}
    </ul>
  );
}
