// What fills the context of a chat: each kind with its largest pieces, and when the history is summarised.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import { useChat } from "@/feed/hooks";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { tokens } from "@/ui/format";
import { Modal } from "@/ui/Modal";
import { grouped } from "./contextGroups";

const t = texts.shell.contextParts;

export function ContextDialog({
  chatId,
  used,
  onClose,
}: {
  chatId: string;
  used: number;
  onClose: () => void;
}) {
  const path = { chat_id: chatId };
  const queries = useQueryClient();
  const archived = useChat(state => state.chat?.archived ?? false);
  const { data, error } = useQuery({
    queryKey: ["context", chatId, used],
    queryFn: ({ signal }) => call("GET /chats/{chat_id}/context", { path, signal }),
    // Files change without the chat's doing.
    staleTime: 0,
  });
  const renewing = useMutation({
    mutationFn: () => call("POST /chats/{chat_id}/context/instructions", { path }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["context", chatId] }),
  });
  return (
    <Modal title={t.title} onClose={onClose}>
      <div className="flex flex-col gap-3 text-sm">
        {error && <p className="text-bad">{textOf(error)}</p>}
        {data && (
          <>
            <p className="text-soft">
              {data.limit === null
                ? texts.shell.contextUnknown(tokens(data.used))
                : texts.shell.context(
                    Math.round((data.used / data.limit) * 100),
                    tokens(data.used),
                    tokens(data.limit),
                  )}
              {data.threshold < 100 && `. ${t.threshold(data.threshold)}`}
            </p>
            {data.instructions === "changed" && (
              <div className="flex flex-wrap items-center justify-between gap-2 rounded-md bg-warn-soft px-2.5 py-1.5 text-warn">
                <p>{t.changed}</p>
                {!archived && (
                  <Button small busy={renewing.isPending} onClick={() => renewing.mutate()}>
                    {t.renew}
                  </Button>
                )}
              </div>
            )}
            {data.instructions === "renewing" && <p className="text-soft">{t.renewing}</p>}
            {renewing.error && <p className="text-bad">{textOf(renewing.error)}</p>}
            {grouped(data.segments).map(group => (
              <section key={group.kind} className="flex flex-col gap-0.5">
                <h3 className="flex justify-between font-medium">
                  <span>{t.kinds[group.kind]}</span>
                  <span className="tabular">{tokens(group.tokens)}</span>
                </h3>
                <ul className="text-soft text-xs">
                  {group.listed.map(one => (
                    <li key={one.key} className="flex justify-between gap-4">
                      <span className="min-w-0">
                        <span className="block truncate">{visible(one.label)}</span>
                        {one.error && <span className="block text-bad">{visible(one.error)}</span>}
                      </span>
                      <span className="tabular shrink-0">
                        {one.drift && <span className="mr-2 text-warn">{t.drifts[one.drift]}</span>}
                        {tokens(one.tokens)}
                      </span>
                    </li>
                  ))}
                  {group.more > 0 && <li className="text-faint">{t.more(group.more)}</li>}
                </ul>
              </section>
            ))}
          </>
        )}
      </div>
    </Modal>
  );
}
