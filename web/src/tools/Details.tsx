// The inside of a call that was opened, and who let it run.

import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { useSession } from "@/api/queries";
import type { Approval } from "@/api/schema";
import { texts } from "@/texts";
import { Boundary } from "@/ui/Boundary";
import { moment } from "@/ui/format";
import { rendererOf } from "./registry";
import { type CallView, isOver } from "./state";

const t = texts.tools;

export function Details({ chatId, view }: { chatId: string; view: CallView }) {
  const { Body } = rendererOf(view.name);
  const approval = useApproval(chatId, view);
  const me = useSession().data?.user.id;
  const facts = [
    view.byProvider ? t.byProvider(view.name) : view.name,
    view.startedAt === null ? null : moment(new Date(view.startedAt).toISOString()),
    approval === null ? null : approvalText(approval, view.state, me),
    approval?.by === "person" && isPlain(approval) ? moment(approval.at) : null,
  ];
  return (
    <div className="mb-2 ml-3.5 flex flex-col gap-2 border-l-2 py-1 pl-3">
      <Boundary small>
        <Body chatId={chatId} view={view} />
      </Boundary>
      <p className="break-words text-faint text-xs">{facts.filter(Boolean).join(" · ")}</p>
    </div>
  );
}

/** Known from the call's span; of an older call it is asked for. */
function useApproval(chatId: string, view: CallView): Approval | null {
  const asked = useQuery({
    queryKey: ["call-span", chatId, view.id],
    queryFn: ({ signal }) =>
      call("GET /chats/{chat_id}/trace/{span_id}", {
        path: { chat_id: chatId, span_id: `call-${view.id}` },
        signal,
      }),
    enabled: view.approval === null && isOver(view.state) && hasSpan(view),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return view.approval ?? asked.data?.approved_by ?? null;
}

/** What the server itself did not run as a call has none. */
const hasSpan = (view: CallView): boolean => !view.byProvider && view.name !== "chat_summarized";

/** Of an approval the moment is told apart; of a decision on an unknown outcome it is part of the text. */
const isPlain = (approval: Approval): boolean =>
  approval.decision === "approve" || approval.decision === "deny";

/** Pure: who decided, for how long, and why. */
export function approvalText(approval: Approval, state: CallView["state"], me: string | undefined): string {
  const note = approval.note ? `: ${approval.note}` : "";
  if (approval.by === "rule") return t.byRule(approval.rule ?? "", state === "denied") + note;
  const who = approval.user_id !== null && approval.user_id === me ? t.byYou : t.byPerson;
  const { decision } = approval;
  if (decision === "retry" || decision === "done" || decision === "skip") {
    return t.decided[decision](who, moment(approval.at)) + note;
  }
  return (state === "denied" ? t.denied : t.approved[approval.scope])(who) + note;
}
