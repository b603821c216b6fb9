// Hooks: where they are written, whether they run, and what their last runs came to.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronRight, Play, ShieldCheck } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { hooksQuery, useSession, workspacesQuery } from "@/api/queries";
import type { HookRunShown, HookShown, HookTrial } from "@/api/schema";
import { markedText } from "@/text/marks";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";
import { ChoiceField } from "@/ui/Field";
import { moment } from "@/ui/format";
import { toast } from "@/ui/view";
import { Example, Lead, Mark, Part, Row, Rows } from "./Rows";
import { TrustDialog } from "./TrustDialog";
import { useChange } from "./useChange";

const t = texts.settings.hooks;
// A guard, as the guide has it.
const EXAMPLE = `[[hooks]]
event = "pre_tool"
matcher = "execute"
command = "/usr/local/bin/guard.sh"`;
const STALE = [["hooks"]] as const;

export function Hooks() {
  const [workspaceId, setWorkspaceId] = useState("");
  const hooks = useQuery(hooksQuery(workspaceId || null));
  const workspaces = useQuery(workspacesQuery).data ?? [];
  const workspace = workspaces.find(one => one.id === workspaceId);
  const [trusting, setTrusting] = useState(false);
  const onTrusted = () => {
    setTrusting(false);
    void hooks.refetch();
  };
  return (
    <>
      <Lead>{t.lead}</Lead>
      {workspaces.length > 0 && (
        <ChoiceField
          label={t.workspace}
          value={workspaceId}
          choices={[
            { value: "", title: t.noWorkspace },
            ...workspaces.map(one => ({ value: one.id, title: one.name })),
          ]}
          onValue={setWorkspaceId}
        />
      )}
      <Part title={t.list}>
        <Rows read={hooks} empty={t.empty}>
          {(hooks.data ?? []).map(one => (
            <HookRow
              key={`${one.id} ${one.path}`}
              hook={one}
              workspaceId={workspaceId || null}
              onTrust={() => setTrusting(true)}
            />
          ))}
        </Rows>
      </Part>
      {hooks.data?.length === 0 && <Example lead={t.example} text={EXAMPLE} />}
      {trusting && workspace && (
        <TrustDialog workspaceId={workspace.id} name={workspace.name} onClose={onTrusted} />
      )}
    </>
  );
}

interface RowProps {
  hook: HookShown;
  workspaceId: string | null;
  onTrust: () => void;
}

function HookRow({ hook, workspaceId, onTrust }: RowProps) {
  const [open, setOpen] = useState(false);
  const admin = useSession().data?.scopes.includes("admin") ?? false;
  const test = useChange(
    () =>
      call("POST /hooks/{hook_id}/test", {
        path: { hook_id: hook.id },
        query: { workspace_id: workspaceId },
      }),
    { stale: STALE, onDone: tellTrial },
  );
  const last = hook.last_runs[0];
  const asks = hook.state === "new" || hook.state === "changed" || hook.state === "refused";
  const mayTry = hook.state === "active" && hook.kind === "command" && (hook.source === "workspace" || admin);
  return (
    <>
      <Row
        name={
          <button
            type="button"
            className="flex items-center gap-1.5 text-left"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            {open ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
            {/* One that no event here stands for has none. */}
            {hook.state !== "unusable" && <span className="font-mono font-normal">{hook.event}</span>}
            <span>{markedText(hook.name)}</span>
          </button>
        }
        faded={hook.state !== "active"}
        marks={
          <>
            <Mark look={hook.state === "active" ? "good" : "bad"}>{t.states[hook.state]}</Mark>
            <Mark>{t.sources[hook.source]}</Mark>
            {hook.on_failure === "block" && <Mark>{t.must}</Mark>}
            {last && <Mark look={lookOf(last)}>{t.outcomes[last.outcome]}</Mark>}
          </>
        }
        detail={
          <>
            <span className="break-all font-mono">{markedText(hook.command || hook.url)}</span>
            <span className="block">
              {hook.state !== "unusable" && `${whenOf(hook)} · `}
              {hook.path}
            </span>
            {hook.error && (
              <span role="alert" className="block text-bad">
                {markedText(hook.error)}
              </span>
            )}
          </>
        }
      >
        {asks && <IconButton icon={ShieldCheck} label={`${t.trust} ${hook.name}`} onClick={onTrust} />}
        {mayTry && (
          <IconButton
            icon={Play}
            label={`${t.test} ${hook.name}`}
            disabled={test.isPending}
            onClick={() => test.mutate(undefined)}
          />
        )}
      </Row>
      {open && (
        <li className="flex flex-col gap-3 py-2 pr-3 pl-8">
          {hook.last_runs.length === 0 && <p className="text-faint text-xs">{t.noRuns}</p>}
          {hook.last_runs.map(one => (
            <RunLine key={one.id} run={one} />
          ))}
        </li>
      )}
    </>
  );
}

/** When it is told, in words. */
function whenOf(hook: HookShown): string {
  return t.when[hook.event](hook.matcher && visible(hook.matcher));
}

function RunLine({ run }: { run: HookRunShown }) {
  const said = run.verdict.failure ?? (run.verdict.reason || run.verdict.context);
  return (
    <div className="flex flex-col gap-1 text-sm">
      <div className="flex flex-wrap items-center gap-2">
        <Mark look={lookOf(run)}>{t.outcomes[run.outcome]}</Mark>
        <time dateTime={run.started_at} className="text-faint text-xs">
          {moment(run.started_at)}
        </time>
        {run.chat_id && (
          <Link
            to="/chats/$chatId"
            params={{ chatId: run.chat_id }}
            className="text-accent-text text-xs underline underline-offset-2"
          >
            {t.openChat}
          </Link>
        )}
      </div>
      {said && <p className="break-words">{markedText(said)}</p>}
      {run.output && run.output !== said && (
        <pre className="max-h-40 overflow-auto whitespace-pre-wrap break-all text-faint text-xs">
          {markedText(run.output)}
        </pre>
      )}
    </div>
  );
}

function lookOf(run: HookRunShown): "good" | "bad" | "plain" {
  if (run.outcome === "failed" || run.outcome === "timed_out") return "bad";
  return run.outcome === "passed" ? "good" : "plain";
}

function tellTrial(trial: HookTrial): void {
  if (trial.outcome === "blocked") toast(t.objected(trial.verdict.reason), "good");
  else if (trial.outcome === "passed" || trial.outcome === "changed") toast(t.tested[trial.outcome], "good");
  else toast(t.failed(trial.verdict.failure ?? trial.errors), "bad");
}
