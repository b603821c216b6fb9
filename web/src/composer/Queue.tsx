// The messages that wait their turn, above the composer: edit, reorder, send now, remove.

import { useState } from "react";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import { useChat } from "@/feed/hooks";
import { texts } from "@/texts";
import { announce, toast } from "@/ui/view";
import { QueueRow } from "./QueueRow";

const t = texts.composer;

export function Queue({ chatId }: { chatId: string }) {
  const items = useChat(state => state.queue);
  const [dragged, setDragged] = useState<string | null>(null);
  if (items.length === 0) return null;
  const move = async (itemId: string, position: number) => {
    if (position < 0 || position >= items.length) return;
    try {
      await call("PATCH /chats/{chat_id}/queue/{item_id}", {
        path: { chat_id: chatId, item_id: itemId },
        body: { position },
      });
      announce(t.moved(position + 1, items.length));
    } catch (error) {
      toast(textOf(error), "bad");
    }
  };
  return (
    <section aria-label={t.queueLabel} className="mx-auto w-full max-w-3xl px-3 pb-1">
      <h3 className="px-1 pb-1 text-faint text-xs">{t.queued(items.length)}</h3>
      <ol className="flex max-h-[30dvh] flex-col gap-1 overflow-y-auto">
        {items.map((item, index) => (
          <QueueRow
            key={item.id}
            chatId={chatId}
            item={item}
            onMove={step => void move(item.id, index + step)}
            dragged={dragged === item.id}
            onDrag={setDragged}
            onDropped={() => {
              if (dragged !== null && dragged !== item.id) void move(dragged, index);
              setDragged(null);
            }}
          />
        ))}
      </ol>
    </section>
  );
}
