// What a workspace brings along that would run or act: the exact text, and whether the person trusts it.

import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { trustQuery } from "@/api/queries";
import type { TrustShown } from "@/api/schema";
import { markedText } from "@/text/marks";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { Modal } from "@/ui/Modal";
import { ScrolledText } from "@/ui/ScrolledText";
import { Mark } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.trust;

interface Props {
  workspaceId: string;
  name: string;
  onClose: () => void;
}

export function TrustDialog({ workspaceId, name, onClose }: Props) {
  const items = useQuery(trustQuery(workspaceId));
  const decide = useChange(
    ({ item, decision }: { item: TrustShown; decision: "trust" | "refuse" }) =>
      call("POST /workspaces/{workspace_id}/trust", {
        path: { workspace_id: workspaceId },
        body: { items: [{ path: item.path, hash: item.hash }], decision },
      }),
    { stale: [trustQuery(workspaceId).queryKey, ["mcp-servers"], ["agents"]] },
  );
  const shown = items.data ?? [];
  return (
    <Modal title={t.title(name)} onClose={onClose}>
      <div className="flex flex-col gap-4">
        <p className="text-soft text-sm">{t.lead}</p>
        {shown.length === 0 && (
          <p className="text-faint text-sm">{items.isPending ? texts.common.loading : t.empty}</p>
        )}
        {shown.map(item => (
          <section key={`${item.kind} ${item.path}`} className="flex flex-col gap-2 rounded-lg border p-3">
            <div className="flex flex-wrap items-center gap-2 text-sm">
              <code className="break-all font-mono">{markedText(item.path)}</code>
              <Mark>{t.kinds[item.kind] ?? item.kind}</Mark>
              <Mark look={item.state === "trusted" ? "good" : item.state === "new" ? "plain" : "bad"}>
                {t.states[item.state]}
              </Mark>
            </div>
            <Text text={item.text} />
            {item.files.map(file => (
              <details key={file.path} className="text-sm">
                <summary className="cursor-pointer font-mono text-xs">{markedText(file.path)}</summary>
                <Text text={file.text || t.binary} />
              </details>
            ))}
            {item.error && <p className="text-bad text-sm">{markedText(item.error)}</p>}
            <div className="flex gap-2">
              <Button
                small
                weight="main"
                disabled={decide.isPending || item.state === "trusted" || item.error !== null}
                onClick={() => decide.mutate({ item, decision: "trust" })}
              >
                {t.trust}
              </Button>
              <Button
                small
                disabled={decide.isPending || item.state === "refused"}
                onClick={() => decide.mutate({ item, decision: "refuse" })}
              >
                {t.refuse}
              </Button>
            </div>
          </section>
        ))}
      </div>
    </Modal>
  );
}

function Text({ text }: { text: string }) {
  return (
    <ScrolledText className="max-h-72 rounded bg-sunken p-2 font-mono text-xs">
      {markedText(text)}
    </ScrolledText>
  );
}
