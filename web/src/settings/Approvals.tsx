// What people let agents do: rules for all their chats, and paths outside of their workspaces. The rules of one
// chat are in `ApprovalRules`.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Undo2 } from "lucide-react";
import { call } from "@/api/client";
import { workspacesQuery } from "@/api/queries";
import { useChats } from "@/chats/store";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";
import { moment } from "@/ui/format";
import { Lead, Mark, Part, Row, Rows } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.approvals;
const GRANTS = ["grants"] as const;
const RULES = ["rules"] as const;

export function Approvals() {
  const chats = useChats(state => state.chats);
  const grants = useQuery({
    queryKey: GRANTS,
    queryFn: async ({ signal }) => (await call("GET /grants", { signal, query: { limit: 200 } })).items,
  });
  const revoke = useChange((id: string) => call("DELETE /grants/{grant_id}", { path: { grant_id: id } }), {
    stale: [GRANTS],
  });
  return (
    <>
      <Lead>{t.lead}</Lead>
      <UserRules />
      <Part title={t.grants}>
        <Rows read={grants} empty={t.noGrants}>
          {(grants.data ?? []).map(grant => (
            <Row
              key={grant.id}
              name={<span className="font-mono">{grant.path}</span>}
              marks={<Mark>{t.kinds[grant.kind]}</Mark>}
              detail={
                <>
                  <Link
                    to="/chats/$chatId"
                    params={{ chatId: grant.chat_id }}
                    className="text-accent-text underline underline-offset-2"
                  >
                    {chats.get(grant.chat_id)?.title || t.chat}
                  </Link>
                  {` · ${moment(grant.granted_at)} · ${grant.reason}`}
                </>
              }
            >
              <IconButton icon={Undo2} label={t.revoke(grant.path)} onClick={() => revoke.mutate(grant.id)} />
            </Row>
          ))}
        </Rows>
      </Part>
      <p className="text-faint text-xs">{t.rulesHint}</p>
    </>
  );
}

function UserRules() {
  const workspaces = useQuery(workspacesQuery).data;
  const rules = useQuery({
    queryKey: RULES,
    queryFn: async ({ signal }) => (await call("GET /approvals", { signal, query: { limit: 200 } })).items,
  });
  const revoke = useChange((id: string) => call("DELETE /approvals/{rule_id}", { path: { rule_id: id } }), {
    stale: [RULES],
  });
  const where = (id: string | null) =>
    id === null ? t.noWorkspace : (workspaces?.find(one => one.id === id)?.name ?? t.someWorkspace);
  return (
    <Part title={t.userRules}>
      <Rows read={rules} empty={t.noUserRules}>
        {(rules.data ?? []).map(rule => (
          <Row
            key={rule.id}
            name={
              <span className="font-mono">
                {[rule.tool, rule.path ?? rule.host].filter(Boolean).join(" ")}
              </span>
            }
            marks={<Mark look={rule.allowed ? "good" : "bad"}>{rule.allowed ? t.allowed : t.denied}</Mark>}
            detail={`${where(rule.workspace_id)} · ${moment(rule.created_at)}`}
          >
            <IconButton icon={Undo2} label={t.revoke(rule.tool)} onClick={() => revoke.mutate(rule.id)} />
          </Row>
        ))}
      </Rows>
    </Part>
  );
}
