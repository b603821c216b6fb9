// What fills the context of a chat: each kind with its largest pieces, and when the history is summarised.

import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
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
  const { data, error } = useQuery({
    queryKey: ["context", chatId, used],
    queryFn: ({ signal }) => call("GET /chats/{chat_id}/context", { path: { chat_id: chatId }, signal }),
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
            {grouped(data.segments).map(group => (
              <section key={group.kind} className="flex flex-col gap-0.5">
                <h3 className="flex justify-between font-medium">
                  <span>{t.kinds[group.kind]}</span>
                  <span className="tabular">{tokens(group.tokens)}</span>
                </h3>
                <ul className="text-soft text-xs">
                  {group.largest.map(one => (
                    <li key={one.key} className="flex justify-between gap-4">
                      <span className="min-w-0 truncate">{visible(one.label)}</span>
                      <span className="tabular shrink-0">{tokens(one.tokens)}</span>
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
