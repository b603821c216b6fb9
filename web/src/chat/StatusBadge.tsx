// What happens in the chat now, in a word or two.

import clsx from "clsx";
import { LoaderCircle } from "lucide-react";
import { useEffect, useState } from "react";
import type { Chat } from "@/api/schema";
import { useChat } from "@/feed/hooks";
import { needsYou } from "@/feed/state";
import { texts } from "@/texts";

const t = texts.status;

type Look = "quiet" | "working" | "attention" | "bad";

const LOOK: Record<Look, string> = {
  quiet: "text-faint",
  working: "bg-accent-soft text-accent-text",
  attention: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
};

export function StatusBadge() {
  const chat = useChat(state => state.chat);
  const lost = useLasting(useChat(state => state.link === "reconnecting"));
  if (lost) return <Badge look="attention" text={texts.shell.reconnecting} spins />;
  if (chat === null) return null;
  const [text, look] = said(chat);
  return text === null ? null : <Badge look={look} text={text} spins={look === "working"} />;
}

const WORTH_TELLING_MS = 800;

/** True when it has been for a moment: a tab that comes back into sight reconnects faster than one reads. */
function useLasting(now: boolean): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    if (!now) return setLasts(false);
    const timer = setTimeout(() => setLasts(true), WORTH_TELLING_MS);
    return () => clearTimeout(timer);
  }, [now]);
  return now && lasts;
}

function Badge({ look, text, spins }: { look: Look; text: string; spins: boolean }) {
  return (
    <span
      data-testid="status"
      className={clsx(
        "flex shrink-0 items-center gap-1 rounded-full px-2 py-0.5 font-medium text-xs",
        LOOK[look],
      )}
    >
      {spins && <LoaderCircle aria-hidden className="size-3 animate-spin" />}
      {text}
    </span>
  );
}

/** Pure: nothing is said of a chat that rests. */
export function said(chat: Chat): [text: string | null, look: Look] {
  if (chat.archived) return [t.archived, "quiet"];
  if (needsYou(chat) && chat.status !== "interrupting") return [t.requires_action, "attention"];
  switch (chat.status) {
    case "idle":
      return chat.waiting === "held" ? [t.held, "attention"] : [null, "quiet"];
    case "error":
      return [t.error, "bad"];
    case "requires_action":
      return [t.requires_action, "attention"];
    case "interrupting":
      return [t.interrupting, "working"];
    case "running":
      return [chat.waiting === null ? t.running : t[chat.waiting], "working"];
  }
}
