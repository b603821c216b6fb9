// The sub-agents of the chat as a tree: what each does, what it said, and how to stop it or go on with it.

import { Bot } from "lucide-react";
import { Empty } from "@/panels/Empty";
import type { PanelProps } from "@/panels/registry";
import { texts } from "@/texts";
import { useTick } from "@/ui/tick";
import { AgentRow } from "./AgentRow";
import { inOrder, isBusy } from "./state";
import { useOwnAgents } from "./useAgents";

const t = texts.panels.agents;

export default function AgentsPanel({ chatId }: PanelProps) {
  const agents = useOwnAgents(chatId);
  const working = agents?.filter(isBusy).length ?? 0;
  const now = useTick(working > 0);
  if (agents === undefined) return <p className="p-4 text-faint text-sm">{texts.common.loading}</p>;
  if (agents.length === 0) return <Empty icon={Bot} title={t.empty} hint={t.emptyHint} />;
  return (
    <div className="flex flex-col">
      <p className="tabular flex h-10 items-center border-line border-b px-3 text-soft text-xs">
        {t.count(agents.length, working)}
      </p>
      <ul aria-label={t.label} className="p-1">
        {inOrder(agents).map(agent => (
          <AgentRow key={agent.id} agent={agent} now={now} depth={0} />
        ))}
      </ul>
    </div>
  );
}
