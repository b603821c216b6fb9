// A message of the person's own, to be changed and run again from there.

import { useState } from "react";
import { call, newKey } from "@/api/client";
import { textOf } from "@/api/problem";
import type { Message } from "@/api/schema";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { toast } from "@/ui/view";
import { textOfParts } from "./copy";
import { contentOf } from "./edit";

const t = texts.transcript;

export function EditMessage({ message, onDone }: { message: Message; onDone: () => void }) {
  const [text, setText] = useState(() => textOfParts(message.parts));
  const [busy, setBusy] = useState(false);
  const save = async () => {
    if (text.trim() === "") return;
    setBusy(true);
    try {
      const path = { chat_id: message.chat_id, message_id: message.id };
      const body = { content: contentOf(message.parts, text.trim()) };
      await call("PATCH /chats/{chat_id}/messages/{message_id}", { path, body, once: newKey() });
      onDone();
    } catch (error) {
      toast(textOf(error), "bad");
      setBusy(false);
    }
  };
  return (
    <form
      className="mb-3 flex w-full flex-col gap-2 rounded-xl border border-accent bg-raised p-2"
      onSubmit={event => {
        event.preventDefault();
        void save();
      }}
    >
      <textarea
        aria-label={t.editLabel}
        // biome-ignore lint/a11y/noAutofocus: the person just asked to write here
        autoFocus
        value={text}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key === "Escape") {
            event.preventDefault();
            onDone();
          }
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            void save();
          }
        }}
        className="field-sizing-content max-h-80 min-h-16 w-full resize-none bg-transparent px-2 py-1 outline-none"
      />
      <div className="flex flex-wrap items-center justify-end gap-2">
        <span className="mr-auto px-2 text-faint text-xs">{t.editHint}</span>
        <Button small onClick={onDone}>
          {texts.common.cancel}
        </Button>
        <Button small type="submit" weight="main" busy={busy} disabled={text.trim() === ""}>
          {t.editSave}
        </Button>
      </div>
    </form>
  );
}
