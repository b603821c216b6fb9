// What can be done with a message: copy, link, pin, fork here, edit, run again, rewind. Always there, seen when the
// message is pointed at, focused or touched; its room is the space between messages.

import { useNavigate } from "@tanstack/react-router";
import { Copy, GitFork, History, Link, Pencil, Pin, PinOff, RotateCcw } from "lucide-react";
import { call, newKey } from "@/api/client";
import { textOf } from "@/api/problem";
import type { Message } from "@/api/schema";
import { know } from "@/chats/store";
import { useChat, useFeed } from "@/feed/hooks";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";
import { moment } from "@/ui/format";
import { show, toast } from "@/ui/view";
import { copy, textOfParts } from "./copy";
import { contentOf } from "./edit";
import { pinsOf, togglePin, usePins } from "./pins";

const t = texts.transcript;

interface Props {
  chatId: string;
  /** The newest message of the row. */
  message: Message;
  text: string;
  onEdit?: () => void;
}

export function MessageActions({ chatId, message, text, onEdit }: Props) {
  const navigate = useNavigate();
  const feed = useFeed();
  const archived = useChat(state => state.chat?.archived ?? true);
  const pinned = usePins(state => pinsOf(state.pins, chatId).some(pin => pin.messageId === message.id));
  const fork = () =>
    told(async () => {
      const body = { message_id: message.id };
      const made = await call("POST /chats/{chat_id}/fork", {
        path: { chat_id: chatId },
        body,
        once: newKey(),
      });
      know(made);
      toast(t.forked, "good");
      await navigate({ to: "/chats/$chatId", params: { chatId: made.id } });
    });
  const again = () => {
    const asked = feed.store
      .getState()
      .messages.findLast(one => one.role === "user" && one.id <= message.id && one.visibility !== "model");
    if (asked === undefined) return;
    const last = asked.id === feed.store.getState().messages.findLast(one => one.role === "user")?.id;
    const run = () => told(() => runAgain(chatId, asked));
    if (last) void run();
    else show({ kind: "confirm", text: t.runAgainSure, confirm: t.runAgain, run: () => void run() });
  };
  const rewind = () =>
    told(async () => {
      const path = { chat_id: chatId };
      const body = { message_id: message.id, what: "both" as const };
      const seen = await call("POST /chats/{chat_id}/changes/rewind", {
        path,
        body: { ...body, preview: true },
      });
      const run = () =>
        told(async () => {
          const done = await call("POST /chats/{chat_id}/changes/rewind", { path, body });
          const checkpoint = done.checkpoint_id;
          const undo = () =>
            void told(async () => {
              await call("POST /chats/{chat_id}/changes/undo", { path, body: { checkpoint } });
            });
          toast(t.rewound, "good", { action: { title: t.undoRewind, run: undo } });
        });
      show({ kind: "confirm", text: t.rewindSure(seen), confirm: t.rewind, run: () => void run() });
    });
  return (
    <div className="flex h-7 items-center gap-0.5 opacity-0 transition-opacity focus-within:opacity-100 group-hover/row:opacity-100 [@media(hover:none)]:opacity-100">
      {text !== "" && (
        <IconButton
          small
          icon={Copy}
          label={t.copy}
          onClick={() => void copy(text).then(done => done && toast(texts.common.copied, "good"))}
        />
      )}
      {onEdit && !archived && <IconButton small icon={Pencil} label={t.edit} onClick={onEdit} />}
      {!archived && <IconButton small icon={RotateCcw} label={t.runAgain} onClick={again} />}
      {!archived && message.role === "user" && (
        <IconButton small icon={History} label={t.rewind} onClick={() => void rewind()} />
      )}
      <IconButton small icon={GitFork} label={t.fork} onClick={() => void fork()} />
      <IconButton
        small
        icon={pinned ? PinOff : Pin}
        label={pinned ? t.unpin : t.pin}
        aria-pressed={pinned}
        onClick={() => togglePin(chatId, { messageId: message.id, text: firstWords(text) })}
      />
      <IconButton
        small
        icon={Link}
        label={t.link}
        onClick={() =>
          void copy(`${location.origin}/chats/${chatId}#${message.id}`).then(
            done => done && toast(texts.actions.linkCopied, "good"),
          )
        }
      />
      <span className="ml-1 truncate text-faint text-xs">
        {moment(message.created_at)}
        {message.role === "assistant" && message.model ? ` · ${message.model}` : ""}
      </span>
    </div>
  );
}

/** The same message once more: what followed it is removed from the history. */
async function runAgain(chatId: string, message: Message): Promise<void> {
  const path = { chat_id: chatId, message_id: message.id };
  const body = { content: contentOf(message.parts, textOfParts(message.parts)) };
  await call("PATCH /chats/{chat_id}/messages/{message_id}", { path, body, once: newKey() });
}

async function told(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    toast(textOf(error), "bad");
  }
}

/** The beginning without the signs of markdown, for the bar. */
const firstWords = (text: string): string =>
  text
    .slice(0, 400)
    .replace(/[#*`>|]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
