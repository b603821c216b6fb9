// MCP servers: their state, their tools, what waits for approval, signing in.

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ChevronDown, ChevronRight, LogIn, Pencil, PlugZap, Plus, Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { call } from "@/api/client";
import { mcpServersQuery, mcpValuesQuery, useSession, workspacesQuery } from "@/api/queries";
import type { ServerShown, ServerToolShown } from "@/api/schema";
import { markedText } from "@/text/marks";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { ChoiceField } from "@/ui/Field";
import { ScrolledText } from "@/ui/ScrolledText";
import { show, toast } from "@/ui/view";
import { McpForm } from "./McpForm";
import { McpValues } from "./McpValues";
import { Lead, Mark, Part, Row, Rows } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.mcp;
const STALE = [["mcp-servers"]] as const;

export function McpServers() {
  const [workspace, setWorkspace] = useState("");
  const servers = useQuery(mcpServersQuery(workspace || null));
  const workspaces = useQuery(workspacesQuery).data ?? [];
  const admin = useSession().data?.scopes.includes("admin") ?? false;
  const [editing, setEditing] = useState<ServerShown | "new" | null>(null);
  useComeBack();
  return (
    <>
      <Lead>{t.lead}</Lead>
      {workspaces.length > 0 && (
        <ChoiceField
          label={t.workspace}
          value={workspace}
          choices={[
            { value: "", title: t.noWorkspace },
            ...workspaces.map(one => ({ value: one.id, title: one.name })),
          ]}
          onValue={setWorkspace}
        />
      )}
      <Part
        title={t.list}
        action={
          <Button small icon={Plus} onClick={() => setEditing("new")}>
            {t.add}
          </Button>
        }
      >
        <Rows read={servers} empty={t.empty}>
          {(servers.data ?? []).map(one => (
            <ServerRow
              key={one.id}
              server={one}
              workspace={workspace || null}
              onEdit={() => setEditing(one)}
            />
          ))}
        </Rows>
      </Part>
      <McpValues query={mcpValuesQuery} />
      {editing && (
        <McpForm server={editing === "new" ? null : editing} admin={admin} onClose={() => setEditing(null)} />
      )}
    </>
  );
}

interface RowProps {
  server: ServerShown;
  workspace: string | null;
  onEdit: () => void;
}

function ServerRow({ server, workspace, onEdit }: RowProps) {
  const [open, setOpen] = useState(false);
  const where = { path: { server_id: server.id }, query: { workspace_id: workspace } };
  const test = useChange(() => call("POST /mcp-servers/{server_id}/test", where), {
    stale: STALE,
    onDone: after => toast(after.error ?? t.works(after.offered.length), after.error ? "bad" : "good"),
  });
  const approve = useChange(
    (tools: readonly string[] | null) =>
      call("POST /mcp-servers/{server_id}/approve", { ...where, body: { tools: tools && [...tools] } }),
    { stale: STALE },
  );
  const connect = useChange(
    () =>
      call("POST /mcp-servers/{server_id}/connect", {
        ...where,
        body: { redirect_uri: `${location.origin}/settings/mcp` },
      }),
    { stale: STALE, onDone: ({ url }) => (url ? location.assign(url) : toast(t.connected, "good")) },
  );
  const remove = useChange(() => call("DELETE /mcp-servers/{server_id}", { path: where.path }), {
    stale: STALE,
  });
  const waiting = server.offered.filter(one => one.state === "new" || one.state === "changed");
  return (
    <>
      <Row
        name={
          <button
            type="button"
            className="flex items-center gap-1"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            {open ? (
              <ChevronDown aria-hidden className="size-4" />
            ) : (
              <ChevronRight aria-hidden className="size-4" />
            )}
            {server.name}
          </button>
        }
        faded={!server.enabled}
        marks={
          <>
            <Mark look={server.state === "ready" ? "good" : server.error ? "bad" : "plain"}>
              {t.states[server.state]}
            </Mark>
            <Mark>{t.origins[server.origin]}</Mark>
            {waiting.length > 0 && <Mark look="bad">{t.waiting(waiting.length)}</Mark>}
          </>
        }
        detail={
          <>
            <span className="break-all font-mono">
              {markedText(server.url || [server.command, ...server.args].join(" "))}
            </span>
            {server.title && <span> · {markedText(`${server.title} ${server.version}`)}</span>}
            {server.error && (
              <span role="alert" className="block text-bad">
                {markedText(server.error)}
              </span>
            )}
          </>
        }
      >
        {server.transport === "http" && (
          <IconButton
            icon={LogIn}
            label={`${server.signed_in ? t.signInAgain : t.signIn} ${server.name}`}
            onClick={() => connect.mutate(undefined)}
          />
        )}
        <IconButton
          icon={PlugZap}
          label={`${t.test} ${server.name}`}
          disabled={test.isPending}
          onClick={() => test.mutate(undefined)}
        />
        {server.editable && (
          <>
            <IconButton icon={Pencil} label={`${texts.common.edit} ${server.name}`} onClick={onEdit} />
            <IconButton
              icon={Trash2}
              label={`${texts.common.remove} ${server.name}`}
              onClick={() =>
                show({
                  kind: "confirm",
                  text: t.deleteSure(server.name),
                  confirm: texts.common.remove,
                  run: () => remove.mutateAsync(undefined),
                })
              }
            />
          </>
        )}
      </Row>
      {(open || waiting.length > 0) && (
        <li className="flex flex-col gap-2 bg-sunken px-3 py-2">
          {waiting.length > 0 && (
            <div className="flex items-center justify-between gap-2 text-sm">
              <span>{t.waitingHint}</span>
              <Button small busy={approve.isPending} onClick={() => approve.mutate(null)}>
                {t.approveAll}
              </Button>
            </div>
          )}
          {(open ? server.offered : waiting).map(one => (
            <ToolLine key={one.name} tool={one} onApprove={() => approve.mutate([one.name])} />
          ))}
          {open && server.tool_count > server.offered.length && (
            <p className="text-faint text-xs">{t.more(server.tool_count, server.offered.length)}</p>
          )}
          {open && server.offered.length === 0 && <p className="text-faint text-xs">{t.noTools}</p>}
        </li>
      )}
    </>
  );
}

function ToolLine({ tool, onApprove }: { tool: ServerToolShown; onApprove: () => void }) {
  const before = tool.before as { description?: string } | null;
  const asks = tool.state === "new" || tool.state === "changed";
  return (
    <div className="flex flex-wrap items-start justify-between gap-2 text-xs">
      <div className="min-w-0 flex-1">
        <code className="break-all font-mono">{tool.full_name}</code>{" "}
        {tool.state !== "approved" && <Mark look="bad">{t.tools[tool.state]}</Mark>}{" "}
        {tool.read_only && <Mark>{t.readOnly}</Mark>}
        <p className="whitespace-pre-wrap break-words text-soft">{markedText(tool.description)}</p>
        {before && (
          <p className="whitespace-pre-wrap break-words text-faint line-through">
            {markedText(before.description ?? "")}
          </p>
        )}
        {asks && (
          <ScrolledText className="max-h-40">
            {markedText(JSON.stringify(tool.input_schema, null, 1))}
          </ScrolledText>
        )}
        {tool.error && <p className="text-bad">{markedText(tool.error)}</p>}
      </div>
      {asks && (
        <Button small onClick={onApprove}>
          {t.approve}
        </Button>
      )}
    </div>
  );
}

/** The person is back from a server's own page, with a code in the address. */
function useComeBack() {
  const navigate = useNavigate();
  const done = useRef(false);
  const finish = useChange(
    (body: { state: string; code: string; iss: string | null }) =>
      call("POST /mcp-servers/sign-in", { body }),
    { stale: STALE, onDone: () => toast(t.connected, "good") },
  );
  useEffect(() => {
    const given = new URLSearchParams(location.search);
    const [state, code] = [given.get("state"), given.get("code")];
    if (done.current || (!code && !given.get("error"))) return;
    done.current = true;
    if (state && code) finish.mutate({ state, code, iss: given.get("iss") });
    else toast(given.get("error_description") ?? t.notConnected, "bad");
    void navigate({ to: "/settings/$section", params: { section: "mcp" }, search: {}, replace: true });
  }, [finish, navigate]);
}
