// Which segments of a request came and went since the request before, as the server has recorded them.

import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { call } from "@/api/client";
import type { ChangedSegment, Span } from "@/api/schema";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { tokens } from "@/ui/format";

const t = texts.panels.trace;
const LISTED = 20;

/** `otherwise` is shown while nothing is recorded. */
export function RequestDiff({ span, otherwise }: { span: Span; otherwise: React.ReactNode }) {
  const { data } = useQuery({
    queryKey: ["request-diff", span.chat_id, span.id],
    queryFn: ({ signal }) =>
      call("GET /chats/{chat_id}/context/diff", {
        path: { chat_id: span.chat_id },
        query: { after: span.id },
        signal,
      }),
    enabled: span.kind === "model_call" && span.finished_at !== null,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (data === undefined) return otherwise;
  if (data.dropped.length === 0 && data.added.length === 0)
    return <p className="text-soft">{t.sinceNothing}</p>;
  return (
    <>
      {data.kept > 0 && <p className="text-soft">{t.sinceKept(data.kept, tokens(data.kept_tokens))}</p>}
      <Segments sign="−" segments={data.dropped} />
      <Segments sign="+" segments={data.added} />
    </>
  );
}

function Segments({ sign, segments }: { sign: "+" | "−"; segments: readonly ChangedSegment[] }) {
  if (segments.length === 0) return null;
  const came = sign === "+";
  return (
    <ul className="flex flex-col gap-0.5">
      {segments.slice(0, LISTED).map((one, at) => (
        <li
          // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
          key={at}
          title={one.text ?? undefined}
          className={clsx("flex gap-2 rounded px-2 py-0.5", came ? "bg-good-soft" : "bg-bad-soft")}
        >
          <span aria-hidden className={came ? "text-good" : "text-bad"}>
            {sign}
          </span>
          <span className="shrink-0 text-soft">{texts.shell.contextParts.kinds[one.kind]}</span>
          <span className="min-w-0 flex-1 truncate">{visible(one.label)}</span>
          <span className="tabular shrink-0 text-soft">{tokens(one.tokens)}</span>
        </li>
      ))}
      {segments.length > LISTED && (
        <li className="text-soft">{texts.shell.contextParts.more(segments.length - LISTED)}</li>
      )}
    </ul>
  );
}
