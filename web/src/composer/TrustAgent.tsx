// An agent that a workspace brings along, to be read before it is used: trusted is exactly what was shown.

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call, newKey } from "@/api/client";
import { textOf } from "@/api/problem";
import { workspaceAgentsQuery } from "@/api/queries";
import type { WorkspaceAgent } from "@/api/schema";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { Modal } from "@/ui/Modal";
import { ScrolledText } from "@/ui/ScrolledText";

const t = texts.composer.trust;

interface Props {
  workspaceId: string;
  agent: WorkspaceAgent;
  onTrusted: () => void;
  onClose: () => void;
}

export function TrustAgent({ workspaceId, agent, onTrusted, onClose }: Props) {
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string | null>(null);
  const trust = async () => {
    setBusy(true);
    setFailed(null);
    try {
      const body = { path: agent.path, digest: agent.digest };
      const path = { workspace_id: workspaceId };
      await call("POST /workspaces/{workspace_id}/agents/trust", { path, body, once: newKey() });
      onTrusted();
    } catch (error) {
      setFailed(textOf(error));
    }
    await queries.invalidateQueries({ queryKey: workspaceAgentsQuery(workspaceId).queryKey });
    setBusy(false);
  };
  return (
    <Modal title={t.title(agent.name)} wide onClose={onClose}>
      <div className="flex flex-col gap-3 overflow-y-auto p-4 text-sm">
        <p className="text-soft">{agent.agent_id === null ? t.isNew : t.isChanged}</p>
        <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1">
          <dt className="text-soft">{t.file}</dt>
          <dd className="break-all font-mono text-xs">{agent.path}</dd>
          <dt className="text-soft">{t.model}</dt>
          <dd>{agent.model ?? t.anyModel}</dd>
          <dt className="text-soft">{t.tools}</dt>
          <dd>{agent.tools === null ? t.allTools : agent.tools.join(", ") || t.noTools}</dd>
        </dl>
        <ScrolledText className="max-h-72 rounded-md border border-line p-3 text-xs">
          {agent.instructions}
        </ScrolledText>
        {failed !== null && (
          <p role="alert" className="text-bad">
            {failed}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{texts.common.cancel}</Button>
          <Button weight="main" busy={busy} onClick={() => void trust()} data-first>
            {t.trust}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
