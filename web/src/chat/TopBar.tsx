// Above the conversation: title, model, how full the context is, what it cost, and what happens now.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronRight, Ellipsis, FolderGit2, GitBranch, PanelLeft, PanelRight } from "lucide-react";
import { useAction } from "@/actions/hooks";
import { call } from "@/api/client";
import { useModels } from "@/api/queries";
import { ChatMenu } from "@/chats/ChatMenu";
import { useChats } from "@/chats/store";
import { useChat } from "@/feed/hooks";
import { PANELS } from "@/panels/registry";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";
import { money } from "@/ui/format";
import { usePreferences } from "@/ui/preferences";
import { tip } from "@/ui/Tips";
import { useView } from "@/ui/view";
import { ContextRing } from "./ContextRing";
import { StatusBadge } from "./StatusBadge";

const t = texts.shell;

export function TopBar() {
  const chat = useChat(state => state.chat);
  const panelOpen = usePreferences(state => state.panelOpen);
  const wide = useView(view => view.wide);
  const panel = useAction("view.panel");
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b px-2 sm:px-3">
      <ListToggle />
      {chat?.parent_id && <Breadcrumb parentId={chat.parent_id} rootId={chat.root_id} />}
      <h1 className="min-w-0 truncate font-semibold text-sm">
        {chat && (visible(chat.title) || texts.chats.untitled)}
      </h1>
      <StatusBadge />
      <div className="flex-1" />
      {wide && chat?.workspace_id && <WorkspaceName id={chat.workspace_id} />}
      {wide && chat && <ModelName chosen={chat.model} />}
      <ContextRing />
      <Cost />
      {chat && <ChatMenu chat={chat} trigger={<IconButton icon={Ellipsis} label={t.menu} />} />}
      {PANELS.length > 0 && panel.offered && (
        <IconButton
          icon={PanelRight}
          label={panelOpen && wide ? t.closePanel : t.openPanel}
          keys={panel.keys}
          aria-pressed={panelOpen && wide}
          onClick={panel.run}
        />
      )}
    </header>
  );
}

/** The chats that led here, the first one first. */
function Breadcrumb({ parentId, rootId }: { parentId: string; rootId: string }) {
  const ids = rootId === parentId ? [parentId] : [rootId, parentId];
  return (
    <nav aria-label={t.breadcrumb} className="flex min-w-0 shrink items-center gap-1 text-sm">
      {ids.map(id => (
        <Crumb key={id} chatId={id} />
      ))}
    </nav>
  );
}

function Crumb({ chatId }: { chatId: string }) {
  const listed = useChats(state => state.chats.get(chatId)?.title);
  const asked = useQuery({
    queryKey: ["chat", chatId],
    queryFn: ({ signal }) => call("GET /chats/{chat_id}", { path: { chat_id: chatId }, signal }),
    enabled: listed === undefined,
  }).data?.title;
  return (
    <>
      <Link
        to="/chats/$chatId"
        params={{ chatId }}
        className="min-w-8 max-w-48 truncate rounded-md px-1 py-1 text-soft hover:bg-hover hover:text-text"
      >
        {(listed ?? asked) || texts.chats.untitled}
      </Link>
      <ChevronRight aria-hidden className="size-3.5 shrink-0 text-faint" />
    </>
  );
}

function WorkspaceName({ id }: { id: string }) {
  const version = useChat(state => (state.chat?.status === "running" ? null : state.chat?.version));
  const workspace = useQuery({
    // Asked again when a turn ends: agents check out branches.
    queryKey: ["workspace", id, version],
    queryFn: ({ signal }) => call("GET /workspaces/{workspace_id}", { path: { workspace_id: id }, signal }),
    placeholderData: before => before,
  }).data;
  if (workspace === undefined) return null;
  const { name, branch, path } = workspace;
  return (
    <span
      {...tip(path)}
      data-testid="workspace"
      className="hidden max-w-72 shrink-0 items-center gap-1 text-faint text-xs lg:flex"
    >
      <FolderGit2 aria-hidden className="size-3.5 shrink-0" />
      <span className="sr-only">{t.workspace}</span>
      <span className="truncate">{name}</span>
      {branch !== null && (
        <>
          <GitBranch aria-hidden className="ml-1 size-3.5 shrink-0" />
          <span className="sr-only">{t.branch}</span>
          <span className="max-w-40 shrink-0 truncate font-mono">{branch}</span>
        </>
      )}
    </span>
  );
}

/** The one that was chosen, else the one that is used when none is. */
function ModelName({ chosen }: { chosen: string | null }) {
  const models = useModels();
  const name = chosen ?? models.data?.find(model => model.default)?.name;
  return <span className="hidden max-w-40 shrink-0 truncate text-faint text-xs lg:block">{name}</span>;
}

/** Brings the chats back where they are hidden. */
export function ListToggle() {
  const wide = useView(view => view.wide);
  const open = usePreferences(state => state.listOpen);
  const list = useAction("view.list");
  return (
    <IconButton
      icon={PanelLeft}
      label={wide && open ? t.closeChats : t.openChats}
      keys={list.keys}
      aria-expanded={wide && open}
      onClick={list.run}
    />
  );
}

function Cost() {
  const usage = useChat(state => state.usage);
  if (usage === null || (usage.cost_usd_micros === 0 && usage.total === 0)) return null;
  const cost = money(usage.cost_usd_micros);
  const told = usage.unpriced_steps > 0 ? t.costUnpriced(cost, usage.unpriced_steps) : t.cost(cost);
  return (
    <span {...tip(told)} className="tabular hidden text-soft text-xs sm:block">
      <span aria-hidden>{cost}</span>
      <span className="sr-only">{told}</span>
    </span>
  );
}
