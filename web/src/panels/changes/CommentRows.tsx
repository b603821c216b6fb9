// A comment between the lines of a diff: written, and waiting to be sent.

import { MessageSquareText, Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { newKey } from "@/api/client";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { type Comment, dropComment, putComment, rangeOf } from "./comments";
import type { Line } from "./parse";

const t = texts.panels.changes;

export function CommentCard({ chatId, comment }: { chatId: string; comment: Comment }) {
  return (
    <div className="m-2 flex items-start gap-2 rounded-lg border border-line bg-raised p-2.5 text-sm">
      <MessageSquareText aria-hidden className="mt-0.5 size-4 shrink-0 text-accent-text" />
      <div className="min-w-0 flex-1">
        <p className="text-faint text-xs">{t.onLines(rangeOf(comment.lines))}</p>
        <p className="whitespace-pre-wrap break-words">{comment.text}</p>
      </div>
      <IconButton small icon={Trash2} label={t.dropComment} onClick={() => dropComment(chatId, comment.id)} />
    </div>
  );
}

interface EditorProps {
  chatId: string;
  path: string;
  lines: readonly Line[];
  onDone: () => void;
}

export function CommentEditor({ chatId, path, lines, onDone }: EditorProps) {
  const [text, setText] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const add = () => {
    if (text.trim() === "") return;
    putComment(chatId, { id: newKey(), path, lines, text: text.trim() });
    onDone();
  };
  return (
    <form
      className="m-2 flex flex-col gap-2 rounded-lg border border-accent bg-raised p-2.5"
      onSubmit={event => {
        event.preventDefault();
        add();
      }}
    >
      <textarea
        ref={area}
        value={text}
        rows={2}
        aria-label={t.commentLabel(path, rangeOf(lines))}
        placeholder={t.commentPlaceholder}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key === "Escape") onDone();
          else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) add();
          else return;
          event.preventDefault();
        }}
        className="resize-y bg-transparent text-sm outline-none placeholder:text-faint"
      />
      <div className="flex items-center justify-end gap-2">
        <span className="min-w-0 flex-1 truncate text-faint text-xs">{t.onLines(rangeOf(lines))}</span>
        <Button small onClick={onDone}>
          {texts.common.cancel}
        </Button>
        <Button small weight="main" type="submit" disabled={text.trim() === ""}>
          {t.addComment}
        </Button>
      </div>
    </form>
  );
}
