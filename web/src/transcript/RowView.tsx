// One row of the conversation. A row that cannot be drawn says so and leaves the others alone.

import clsx from "clsx";
import { CirclePause } from "lucide-react";
import { memo, useState } from "react";
import { texts } from "@/texts";
import { CallLine } from "@/tools/CallLine";
import { Boundary } from "@/ui/Boundary";
import { textOfParts } from "./copy";
import { EditMessage } from "./EditMessage";
import { FileGrid, FileTile } from "./Files";
import { MessageActions } from "./MessageActions";
import { Away } from "./markdown/Inline";
import { Markdown } from "./markdown/Markdown";
import { Notice } from "./Notice";
import { Reasoning } from "./Reasoning";
import { blocksOf, isCall, type Line, lastMessage, type Row } from "./rows";
import { Steps } from "./Steps";

const t = texts.transcript;

interface Props {
  chatId: string;
  row: Row;
  /** It was linked to: seen at a glance. */
  marked: boolean;
}

export const RowView = memo(function RowView({ chatId, row, marked }: Props) {
  return (
    <article
      data-message={row.entries[0]?.message?.id}
      data-role={row.entries[0]?.role}
      data-live={row.entries.some(entry => entry.message === null) || undefined}
      aria-label={row.kind === "user" ? t.you : row.kind === "agent" ? t.agent : t.system}
      className={clsx(
        "group/row mx-auto w-full max-w-3xl px-4 pt-1",
        marked && "rounded-lg bg-accent-soft/60 outline-2 outline-accent/40",
      )}
    >
      <Boundary small attempt={row}>
        {row.kind === "user" ? <UserRow chatId={chatId} row={row} /> : <Said chatId={chatId} row={row} />}
      </Boundary>
    </article>
  );
});

function UserRow({ chatId, row }: Omit<Props, "marked">) {
  const [editing, setEditing] = useState(false);
  const message = row.entries[0]?.message;
  const parts = row.entries[0]?.parts ?? [];
  const files = parts.filter(part => part.type === "file");
  const text = textOfParts(parts);
  if (editing && message) return <EditMessage message={message} onDone={() => setEditing(false)} />;
  return (
    <div className="flex flex-col items-end">
      <div className="min-w-0 max-w-[85%] rounded-2xl rounded-br-md bg-sunken px-4 py-2 dark:bg-raised">
        {files.length > 0 && <FileGrid files={files} />}
        {parts.map((part, index) =>
          part.type === "notice" ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name and never move
            <Notice key={index} part={part} />
          ) : null,
        )}
        {text !== "" && <Written text={text} />}
      </div>
      {message && (
        <MessageActions chatId={chatId} message={message} text={text} onEdit={() => setEditing(true)} />
      )}
    </div>
  );
}

const LONG = 1_200;

/** What the person wrote, with its line ends; a long one is cut until it is asked for. */
function Written({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const long = text.length > LONG;
  return (
    <>
      <div data-testid="written" className="break-words [&_li]:whitespace-pre-line [&_p]:whitespace-pre-line">
        <Markdown text={long && !whole ? `${text.slice(0, LONG)}…` : text.slice(0, 200_000)} />
      </div>
      {long && (
        <button
          type="button"
          onClick={() => setWhole(!whole)}
          className="text-accent-text text-sm underline-offset-2 hover:underline"
        >
          {whole ? t.hide : t.moreText(text.length - LONG)}
        </button>
      )}
    </>
  );
}

function Said({ chatId, row }: Omit<Props, "marked">) {
  const last = lastMessage(row);
  const live = row.entries.some(entry => entry.message === null);
  const text = row.entries.flatMap(entry => textOfParts(entry.parts) || []).join("\n\n");
  return (
    <div className="min-w-0">
      {blocksOf(row).map(block =>
        block.kind === "steps" ? (
          <StepsOrSummary key={`steps ${block.lines[0]?.key}`} chatId={chatId} lines={block.lines} />
        ) : (
          <PartView key={block.line.key} line={block.line} />
        ),
      )}
      {row.entries.some(entry => entry.message?.interrupted) && (
        <p className="my-1 flex items-center gap-1.5 text-faint text-sm">
          <CirclePause aria-hidden className="size-4" />
          {t.interrupted}
        </p>
      )}
      {row.kind === "notice" || live || last === null ? (
        <div className={row.kind === "notice" ? "h-2" : "h-7"} />
      ) : (
        <MessageActions chatId={chatId} message={last} text={text} />
      )}
    </div>
  );
}

function StepsOrSummary({ chatId, lines }: { chatId: string; lines: readonly Line[] }) {
  const only = lines.length === 1 ? lines[0] : undefined;
  if (only === undefined || !isCall(only.part) || only.part.name !== "chat_summarized") {
    return <Steps chatId={chatId} lines={lines} />;
  }
  return (
    <div className="my-2 border-y py-1">
      <CallLine chatId={chatId} call={only.part} />
    </div>
  );
}

function PartView({ line: { part, live } }: { line: Line }) {
  switch (part.type) {
    case "text":
      return <Markdown text={part.text} live={live} />;
    case "reasoning":
      return <Reasoning part={part} live={live} />;
    case "file":
      return <FileTile file={part} />;
    case "source":
      return (
        <p className="text-sm">
          <Away href={part.url} text={part.title ?? part.url}>
            {part.title ? `${part.title} (${hostOf(part.url)})` : part.url}
          </Away>
        </p>
      );
    case "notice":
      return <Notice part={part} />;
    default:
      return null;
  }
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}
