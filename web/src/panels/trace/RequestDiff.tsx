// Which segments of a request came and went since the request before, as the server has recorded them.

import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { call } from "@/api/client";
import type { ChangedSegment, Span } from "@/api/schema";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { tokens } from "@/ui/format";
import { type Change, changesOf, headOf } from "./changes";

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
      <Changes changes={changesOf(data.dropped, data.added)} />
    </>
  );
}

function Changes({ changes }: { changes: readonly Change[] }) {
  return (
    <ul className="flex flex-col gap-0.5">
      {changes.slice(0, LISTED).map((one, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
        <li key={at}>
          <OneChange change={one} />
        </li>
      ))}
      {changes.length > LISTED && (
        <li className="text-soft">{texts.shell.contextParts.more(changes.length - LISTED)}</li>
      )}
    </ul>
  );
}

/** Folded its first words; open the texts, side by side where there was one before. */
function OneChange({ change: { before, after } }: { change: Change }) {
  const shown = after ?? before;
  if (shown === null) return null;
  const [sign, look] =
    before === null ? ["+", "text-good"] : after === null ? ["−", "text-bad"] : ["±", "text-warn"];
  const line = (
    <>
      <span aria-hidden className={look}>
        {sign}
      </span>
      <span className="shrink-0 text-soft">{texts.shell.contextParts.kinds[shown.kind]}</span>
      <span className="min-w-0 flex-1 truncate">{visible(headOf(shown))}</span>
      <span className="tabular shrink-0 text-soft">{tokens(shown.tokens)}</span>
    </>
  );
  const soft = before === null ? "bg-good-soft" : after === null ? "bg-bad-soft" : "bg-warn-soft";
  const known = [before, after].filter(one => one?.text != null);
  if (known.length === 0) return <p className={clsx("flex gap-2 rounded px-2 py-0.5", soft)}>{line}</p>;
  return (
    <details className={clsx("rounded", soft)}>
      <summary className="flex min-h-6 cursor-pointer gap-2 rounded px-2 py-0.5">{line}</summary>
      <div className={clsx("grid gap-px p-1", before && after && "sm:grid-cols-2")}>
        {before && <Side title={t.textBefore} segment={before} />}
        {after && <Side title={t.textAfter} segment={after} />}
      </div>
    </details>
  );
}

function Side({ title, segment }: { title: string; segment: ChangedSegment }) {
  return (
    <figure className="min-w-0">
      <figcaption className="text-soft">{title}</figcaption>
      {segment.text === null ? (
        <p className="text-faint">{t.textUnknown}</p>
      ) : (
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          tabIndex={0}
          className="max-h-64 overflow-auto whitespace-pre-wrap break-words rounded bg-canvas p-1.5"
        >
          {visible(segment.text)}
        </pre>
      )}
    </figure>
  );
}
