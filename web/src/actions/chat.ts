// Actions on the chat that is shown.

import {
  Archive,
  ArchiveRestore,
  CircleStop,
  CornerLeftUp,
  Download,
  GitFork,
  Globe,
  GlobeLock,
  Link,
  Pencil,
  Pin,
  PinOff,
  RotateCcw,
  ShieldCheck,
  Shrink,
  Trash2,
} from "lucide-react";
import { call, newKey, request } from "@/api/client";
import type { Chat } from "@/api/schema";
import { useOpenChat } from "@/chat/open";
import { forget, know } from "@/chats/store";
import { isWorking } from "@/feed/state";
import { texts } from "@/texts";
import { show, toast } from "@/ui/view";
import type { Action, Context } from "./registry";

const t = texts.actions;

/** An action for when there is a chat that is not archived. */
type OnChat = Omit<Action, "section" | "run" | "when"> & {
  when?: (chat: Chat) => boolean;
  run: (chat: Chat, context: Context) => void | Promise<void>;
};

const onChat = ({ when, run, ...rest }: OnChat): Action => ({
  ...rest,
  section: "chat",
  when: ({ chat }) => chat !== null && (when === undefined || when(chat)),
  run: context => (context.chat === null ? undefined : run(context.chat, context)),
});

const path = (chat: Chat) => ({ path: { chat_id: chat.id } });

export const chatActions: readonly Action[] = [
  onChat({
    id: "chat.interrupt",
    title: t.interrupt,
    icon: CircleStop,
    keys: ["mod+.", "escape"],
    when: chat => isWorking(chat) || chat.status === "requires_action",
    run: async chat => know(await call("POST /chats/{chat_id}/interrupt", path(chat))),
  }),
  onChat({
    id: "chat.retry",
    title: t.retry,
    icon: RotateCcw,
    when: chat => chat.status === "error" && !chat.archived,
    run: async chat => know(await call("POST /chats/{chat_id}/retry", path(chat))),
  }),
  onChat({
    id: "chat.rename",
    title: t.rename,
    icon: Pencil,
    run: chat => show({ kind: "rename", chatId: chat.id, title: chat.title }),
  }),
  onChat({
    id: "chat.pin",
    title: ({ chat }) => (chat?.pinned ? t.unpin : t.pin),
    icon: Pin,
    when: chat => !chat.pinned && chat.parent_id === null,
    run: chat => change(chat, { pinned: true }),
  }),
  onChat({
    id: "chat.unpin",
    title: t.unpin,
    icon: PinOff,
    when: chat => chat.pinned,
    run: chat => change(chat, { pinned: false }),
  }),
  onChat({
    id: "chat.fork",
    title: t.fork,
    icon: GitFork,
    run: async (chat, { navigate }) => {
      const fork = await call("POST /chats/{chat_id}/fork", { ...path(chat), body: {}, once: newKey() });
      know(fork);
      navigate(`/chats/${fork.id}`);
    },
  }),
  onChat({
    id: "chat.compact",
    title: t.compact,
    icon: Shrink,
    when: chat => chat.status === "idle" && !chat.archived,
    run: async chat => know(await call("POST /chats/{chat_id}/compact", path(chat))),
  }),
  onChat({
    id: "chat.approvals",
    title: t.approvals,
    icon: ShieldCheck,
    run: chat => show({ kind: "approvals", chatId: chat.id }),
  }),
  onChat({
    id: "chat.link",
    title: t.copyLink,
    icon: Link,
    run: async chat => {
      await navigator.clipboard.writeText(`${location.origin}/chats/${chat.id}`);
      toast(t.linkCopied, "good");
    },
  }),
  onChat({
    id: "chat.parent",
    title: t.toParent,
    icon: CornerLeftUp,
    keys: ["u"],
    when: chat => chat.parent_id !== null,
    run: (chat, { navigate }) => navigate(`/chats/${chat.parent_id}`),
  }),
  ...(
    [
      ["markdown", t.exportMarkdown, "md"],
      ["html", t.exportHtml, "html"],
      ["json", t.exportJson, "json"],
    ] as const
  ).map(([format, title, extension]) =>
    onChat({
      id: `chat.export.${format}`,
      title,
      icon: Download,
      run: async chat => {
        const response = await request("GET /chats/{chat_id}/export", { ...path(chat), query: { format } });
        save(await response.blob(), `${chat.title || chat.id}.${extension}`);
      },
    }),
  ),
  onChat({
    id: "chat.archive",
    title: t.archive,
    icon: Archive,
    when: chat => !chat.archived && !isWorking(chat) && chat.parent_id === null,
    run: async (chat, { navigate }) => {
      await change(chat, { archived: true });
      if (useOpenChat.getState().chat?.root_id === chat.root_id) navigate("/");
    },
  }),
  onChat({
    id: "chat.unarchive",
    title: t.unarchive,
    icon: ArchiveRestore,
    when: chat => chat.archived,
    run: chat => change(chat, { archived: false }),
  }),
  onChat({
    id: "chat.web_off",
    title: t.webOff,
    icon: GlobeLock,
    when: chat => chat.web && !chat.archived,
    run: chat => change(chat, { web: false }),
  }),
  onChat({
    id: "chat.web_on",
    title: t.webOn,
    icon: Globe,
    when: chat => !chat.web && !chat.archived,
    run: chat => change(chat, { web: true }),
  }),
  onChat({
    id: "chat.delete",
    title: t.delete,
    icon: Trash2,
    danger: true,
    run: (chat, { navigate }) =>
      show({
        kind: "confirm",
        text: t.deleteSure,
        confirm: texts.common.delete,
        run: async () => {
          await call("DELETE /chats/{chat_id}", path(chat));
          forget(chat.id);
          navigate(chat.parent_id === null ? "/" : `/chats/${chat.parent_id}`);
        },
      }),
  }),
];

export async function change(chat: Pick<Chat, "id">, body: Parameters<typeof changeBody>[0]): Promise<void> {
  know(await call("PATCH /chats/{chat_id}", { path: { chat_id: chat.id }, body: changeBody(body) }));
}

function changeBody(body: {
  title?: string;
  pinned?: boolean;
  archived?: boolean;
  model?: string | null;
  effort?: string | null;
  mode?: string;
  writes?: "direct" | "review";
  provider_tools?: Chat["provider_tools"];
  debug?: boolean;
  web?: boolean;
}) {
  return body;
}

export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[/\\:*?"<>|\p{Cc}]+/gu, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
