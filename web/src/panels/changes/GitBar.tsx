// What a person does with git about the changes of a workspace: commit them, go on on a branch, take them away as a
// patch. Nothing is pushed.

import { Download, GitBranch, Sparkles } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { toast } from "@/ui/view";

const t = texts.panels.changes.git;
const MOST_ROWS = 8;
const FIELD =
  "min-w-0 flex-1 rounded-md border border-line bg-raised px-2 text-sm outline-none placeholder:text-faint focus-visible:border-accent";

interface GitBarProps {
  chatId: string;
  workspaceId: string;
  onDone: () => void;
}

export function GitBar({ chatId, workspaceId, onDone }: GitBarProps) {
  const [what, setWhat] = useState<"commit" | "branch">("commit");
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [proposing, setProposing] = useState(false);
  const path = { workspace_id: workspaceId };
  const act = async () => {
    if (text.trim() === "") return;
    setBusy(true);
    try {
      if (what === "commit") {
        const done = await call("POST /workspaces/{workspace_id}/git/commit", {
          path,
          body: { message: text },
        });
        toast(t.committed(done.commit.slice(0, 8), done.branch ?? ""), "good");
      } else {
        const done = await call("POST /workspaces/{workspace_id}/git/branch", {
          path,
          body: { name: text.trim() },
        });
        toast(t.branched(done.branch ?? text), "good");
      }
      setText("");
      setWhat("commit");
      onDone();
    } catch (error) {
      toast(textOf(error), "bad");
    } finally {
      setBusy(false);
    }
  };
  const propose = async () => {
    setProposing(true);
    try {
      const path = { chat_id: chatId };
      const proposed = await call("POST /chats/{chat_id}/changes/commit-message", { path });
      // What was written meanwhile stays.
      setText(before => (before === text ? proposed.message : before));
    } catch (error) {
      toast(textOf(error), "bad");
    } finally {
      setProposing(false);
    }
  };
  const label = what === "commit" ? t.message : t.branchName;
  return (
    <form
      className="flex shrink-0 items-center gap-1.5 border-line border-t px-3 py-2"
      onSubmit={event => {
        event.preventDefault();
        void act();
      }}
    >
      {what === "commit" ? (
        <textarea
          value={text}
          aria-label={label}
          placeholder={label}
          rows={Math.min(text.split("\n").length, MOST_ROWS)}
          onChange={event => setText(event.target.value)}
          onKeyDown={event => {
            // As in a field of one line; with Shift a new line begins.
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
          className={`${FIELD} resize-none py-1`}
        />
      ) : (
        <input
          type="text"
          value={text}
          aria-label={label}
          placeholder={label}
          autoComplete="off"
          onChange={event => setText(event.target.value)}
          className={`${FIELD} h-7`}
        />
      )}
      {what === "commit" && (
        <IconButton
          small
          icon={Sparkles}
          label={t.propose}
          disabled={busy || proposing}
          aria-busy={proposing}
          onClick={() => void propose()}
        />
      )}
      <Button small weight="main" type="submit" busy={busy} disabled={text.trim() === ""}>
        {what === "commit" ? t.commit : t.branch}
      </Button>
      <IconButton
        small
        icon={GitBranch}
        label={t.newBranch}
        aria-pressed={what === "branch"}
        onClick={() => setWhat(before => (before === "branch" ? "commit" : "branch"))}
      />
      <a
        href={`/api/v1/workspaces/${workspaceId}/git/patch`}
        download="changes.patch"
        aria-label={t.patch}
        title={t.patch}
        className="grid size-7 place-items-center rounded-md text-soft hover:bg-hover"
      >
        <Download aria-hidden className="size-4" />
      </a>
    </form>
  );
}
