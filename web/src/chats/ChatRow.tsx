// One chat in the list, with a mark for what it says at a glance and its sub-agents below it.

import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import clsx from "clsx";
import { Bot, ChevronRight, CircleAlert, Ellipsis, LoaderCircle, Pin } from "lucide-react";
import { memo, useRef, useState } from "react";
import { childrenQuery } from "@/api/queries";
import type { Chat } from "@/api/schema";
import { useOpenChat } from "@/chat/open";
import { isWorking } from "@/feed/state";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { age } from "@/ui/format";
import { draw } from "@/ui/view";
import { ChatMenu } from "./ChatMenu";
import { markOf, useSeen } from "./seen";

const t = texts.chats;

export const ChatRow = memo(function ChatRow({
  chat,
  now,
  depth = 0,
}: {
  chat: Chat;
  now: Date;
  depth?: number;
}) {
  const link = useRef<HTMLAnchorElement>(null);
  const menu = useRef<HTMLButtonElement>(null);
  const shown = useParams({ strict: false }).chatId;
  const family = useOpenChat(open => open.chat?.root_id ?? null);
  const [unfolded, setUnfolded] = useState<boolean | null>(null);
  // Sub-agents are looked for where they matter: below the chat that is shown, and where something happens.
  const childAsks = chat.action?.calls.some(call => call.chat_id !== chat.id) ?? false;
  const near = depth < 5 && (family === chat.root_id || isWorking(chat) || childAsks);
  const folded = !(unfolded ?? near);
  const parent = chat.children > 0;
  const children = useQuery({ ...childrenQuery(chat.id), enabled: near || (parent && !folded) }).data ?? [];
  return (
    <li>
      <div
        className={clsx(
          "group relative flex items-center rounded-md text-sm",
          shown === chat.id ? "bg-chosen" : "hover:bg-hover",
        )}
        style={{ paddingLeft: depth * 14 }}
      >
        {parent || children.length > 0 ? (
          <button
            type="button"
            tabIndex={-1}
            aria-expanded={!folded}
            aria-label={(folded ? t.expand : t.collapse)(chat.title)}
            onClick={() => setUnfolded(folded)}
            className="flex size-6 shrink-0 items-center justify-center rounded text-faint hover:text-text max-sm:size-10"
          >
            <ChevronRight
              aria-hidden
              className={clsx("size-3.5 transition-transform", !folded && "rotate-90")}
            />
          </button>
        ) : (
          <span className="flex size-6 shrink-0 items-center justify-center">
            {depth > 0 ? <Bot aria-hidden className="size-3.5 text-faint" /> : null}
          </span>
        )}
        <Link
          ref={link}
          to="/chats/$chatId"
          params={{ chatId: chat.id }}
          onClick={() => draw(null)}
          onKeyDown={event => {
            if (event.key === "ArrowRight") {
              if (parent && folded) setUnfolded(true);
              else menu.current?.focus();
            } else if (event.key === "ArrowLeft" && parent) setUnfolded(false);
          }}
          aria-current={shown === chat.id ? "page" : undefined}
          className="flex min-w-0 flex-1 items-center gap-2 rounded-md py-1.5 pr-2 max-sm:min-h-10 group-hover:pr-8 group-has-[[data-state=open]]:pr-8 [@media(hover:none)]:pr-8"
        >
          <Title chat={chat} />
          <Mark chat={chat} now={now} />
        </Link>
        <ChatMenu
          chat={chat}
          trigger={
            // One Tab stop for each chat: the arrows lead here.
            <button
              ref={menu}
              type="button"
              tabIndex={-1}
              onKeyDown={event => {
                if (event.key === "ArrowLeft") link.current?.focus();
              }}
              aria-label={t.menu(visible(chat.title) || t.untitled)}
              className="absolute right-1 flex size-6 max-sm:size-10 items-center justify-center rounded text-soft opacity-0 hover:text-text focus-visible:bg-hover focus-visible:opacity-100 group-hover:opacity-100 data-[state=open]:opacity-100 [@media(hover:none)]:opacity-100"
            >
              <Ellipsis aria-hidden className="size-4" />
            </button>
          }
        />
      </div>
      {!folded && children.length > 0 && (
        <ul>
          {children.map(child => (
            <ChatRow key={child.id} chat={child} now={now} depth={depth + 1} />
          ))}
        </ul>
      )}
    </li>
  );
});

function Title({ chat }: { chat: Chat }) {
  const seen = useSeen(state => state.versions[chat.id]);
  const bold = markOf(chat, seen) === "unread";
  return (
    <span className={clsx("min-w-0 flex-1 truncate", bold && "font-semibold")}>
      {visible(chat.title) || t.untitled}
    </span>
  );
}

function Mark({ chat, now }: { chat: Chat; now: Date }) {
  const seen = useSeen(state => state.versions[chat.id]);
  switch (markOf(chat, seen)) {
    case "needs_you":
      return (
        <span className="shrink-0 rounded bg-warn-soft px-1.5 font-medium text-warn text-xs">
          {t.needsYou}
        </span>
      );
    case "running":
      return (
        <span className="flex shrink-0 text-accent-text">
          <LoaderCircle aria-hidden className="size-3.5 animate-spin" />
          <span className="sr-only">{t.running}</span>
        </span>
      );
    case "failed":
      return <CircleAlert aria-label={t.failed} className="size-3.5 shrink-0 text-bad" />;
    case "unread":
      return (
        <span className="size-2 shrink-0 rounded-full bg-warn">
          <span className="sr-only">{t.unread}</span>
        </span>
      );
    default:
      return (
        <span className="tabular flex shrink-0 items-center gap-1 text-faint text-xs">
          {chat.pinned && <Pin aria-hidden className="size-3" />}
          {age(chat.updated_at, now)}
        </span>
      );
  }
}
