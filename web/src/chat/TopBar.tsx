// Above the conversation: title, model, how full the context is, what it cost, and what happens now.

import { Link } from "@tanstack/react-router";
import { CornerLeftUp, Ellipsis, PanelLeft, PanelRight } from "lucide-react";
import { useAction } from "@/actions/hooks";
import { useModels } from "@/api/queries";
import { ChatMenu } from "@/chats/ChatMenu";
import { useChat } from "@/feed/hooks";
import { PANELS } from "@/panels/registry";
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
      {chat?.parent_id && (
        <Link
          to="/chats/$chatId"
          params={{ chatId: chat.parent_id }}
          aria-label={t.parent}
          {...tip(t.parent)}
          className="flex size-8 shrink-0 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-text"
        >
          <CornerLeftUp aria-hidden className="size-4" />
        </Link>
      )}
      <h1 className="min-w-0 truncate font-semibold text-sm">
        {chat && (chat.title || texts.chats.untitled)}
      </h1>
      <StatusBadge />
      <div className="flex-1" />
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
