// The approval rules of one chat: what was answered with "always for this chat", to be forgotten again.

import { useQuery } from "@tanstack/react-query";
import { Undo2 } from "lucide-react";
import { call } from "@/api/client";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";
import { moment } from "@/ui/format";
import { Modal } from "@/ui/Modal";
import { Mark, Row, Rows } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.approvals;

export function ApprovalRules({ chatId, onClose }: { chatId: string; onClose: () => void }) {
  const key = ["approvals", chatId];
  const rules = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) =>
      (await call("GET /chats/{chat_id}/approvals", { path: { chat_id: chatId }, signal })).items,
  });
  const forget = useChange(
    (id: string) =>
      call("DELETE /chats/{chat_id}/approvals/{rule_id}", { path: { chat_id: chatId, rule_id: id } }),
    { stale: [key] },
  );
  return (
    <Modal title={t.rules} onClose={onClose}>
      <Rows read={rules} empty={t.empty}>
        {(rules.data ?? []).map(rule => (
          <Row
            key={rule.id}
            name={<span className="font-mono">{rule.tool}</span>}
            marks={<Mark look={rule.allowed ? "good" : "bad"}>{rule.allowed ? t.allowed : t.denied}</Mark>}
            detail={[moment(rule.at), rule.note].filter(Boolean).join(" · ")}
          >
            <IconButton
              icon={Undo2}
              label={`${t.remove} ${rule.tool}`}
              onClick={() => forget.mutate(rule.id)}
            />
          </Row>
        ))}
      </Rows>
    </Modal>
  );
}
