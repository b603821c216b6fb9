// One message that waits.

import clsx from "clsx";
import { GripVertical, Pencil, Send, X } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import type { QueueItem } from "@/api/schema";
import { useChat } from "@/feed/hooks";
import { isWorking } from "@/feed/state";
import { texts } from "@/texts";
import { textOfParts } from "@/transcript/copy";
import { contentOf } from "@/transcript/edit";
import { Button, IconButton } from "@/ui/Button";
import { toast } from "@/ui/view";
import { useHold } from "./hold";

const t = texts.composer;

interface Props {
  chatId: string;
  item: QueueItem;
  onMove: (step: 1 | -1) => void;
  dragged: boolean;
  onDrag: (id: string | null) => void;
  onDropped: () => void;
}

export function QueueRow({ chatId, item, onMove, dragged, onDrag, onDropped }: Props) {
  const hold = useHold(chatId, item.id);
  const working = useChat(state => isWorking(state.chat));
  const text = textOfParts(item.content);
  const files = item.content.filter(part => part.type === "file").length;
  const path = { chat_id: chatId, item_id: item.id };
  if (hold.editing) return <Editing item={item} onEnd={hold.end} />;
  return (
    <li
      data-testid="queued"
      onDragOver={event => event.preventDefault()}
      onDrop={event => {
        event.preventDefault();
        onDropped();
      }}
      className={clsx(
        "flex items-center gap-1 rounded-lg border bg-raised py-0.5 pr-1",
        dragged && "opacity-50",
      )}
    >
      <button
        type="button"
        draggable
        aria-label={t.reorder(text.slice(0, 60))}
        title={t.reorderHint}
        onDragStart={event => {
          event.dataTransfer.effectAllowed = "move";
          event.dataTransfer.setData("text/plain", item.id);
          onDrag(item.id);
        }}
        onDragEnd={() => onDrag(null)}
        onKeyDown={event => {
          if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
          event.preventDefault();
          event.stopPropagation();
          onMove(event.key === "ArrowUp" ? -1 : 1);
        }}
        className="flex size-7 shrink-0 cursor-grab items-center justify-center rounded text-faint hover:bg-hover"
      >
        <GripVertical aria-hidden className="size-4" />
      </button>
      <p className="line-clamp-2 min-w-0 flex-1 break-words text-sm">
        {text}
        {files > 0 && <span className="text-faint"> {t.withFiles(files)}</span>}
      </p>
      {item.busy !== "queue" && (
        <span className="shrink-0 rounded-full bg-accent-soft px-2 text-accent-text text-xs">
          {t.how[item.busy].title}
        </span>
      )}
      {item.held && <span className="shrink-0 text-warn text-xs">{t.held}</span>}
      <IconButton small icon={Pencil} label={t.editQueued} onClick={() => void hold.begin()} />
      <IconButton
        small
        icon={Send}
        label={working ? t.interruptAndSend : t.sendNow}
        onClick={() => void told(call("POST /chats/{chat_id}/queue/{item_id}/promote", { path }))}
      />
      <IconButton
        small
        icon={X}
        label={t.removeQueued}
        onClick={() => void told(call("DELETE /chats/{chat_id}/queue/{item_id}", { path }))}
      />
    </li>
  );
}

function Editing({
  item,
  onEnd,
}: {
  item: QueueItem;
  onEnd: (content: ReturnType<typeof contentOf> | null) => Promise<void>;
}) {
  const [text, setText] = useState(() => textOfParts(item.content));
  const [busy, setBusy] = useState(false);
  const end = async (save: boolean) => {
    setBusy(true);
    await onEnd(save ? contentOf(item.content, text.trim()) : null);
    setBusy(false);
  };
  return (
    <li data-testid="queued" className="flex flex-col gap-1 rounded-lg border border-accent bg-raised p-2">
      <textarea
        aria-label={t.editQueued}
        // biome-ignore lint/a11y/noAutofocus: the person just asked to write here
        autoFocus
        value={text}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key === "Escape") {
            event.preventDefault();
            void end(false);
          }
          if (event.key === "Enter" && !event.shiftKey && text.trim() !== "") {
            event.preventDefault();
            void end(true);
          }
        }}
        className="field-sizing-content max-h-48 min-h-10 w-full resize-none bg-transparent px-1 text-sm outline-none"
      />
      <div className="flex items-center justify-end gap-2">
        <span className="mr-auto text-faint text-xs">{t.heldHint}</span>
        <Button small disabled={busy} onClick={() => void end(false)}>
          {texts.common.cancel}
        </Button>
        <Button small weight="main" busy={busy} disabled={text.trim() === ""} onClick={() => void end(true)}>
          {texts.common.save}
        </Button>
      </div>
    </li>
  );
}

async function told(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    toast(textOf(error), "bad");
  }
}
