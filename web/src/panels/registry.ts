// The panels beside the conversation. Each is loaded when it is first opened: its code is no part of the page's
// first load. A panel that is not listed here does not exist anywhere on the page.

import {
  Bot,
  Bug,
  ChartColumn,
  ChartGantt,
  FileDiff,
  ListOrdered,
  type LucideIcon,
  Network,
  Workflow,
} from "lucide-react";
import type { ComponentType } from "react";
import type { OpenChat } from "@/feed/chats";
import { texts } from "@/texts";
import { useAgentCount } from "./agents/useAgents";

/** A panel is shown inside of `ChatFeedProvider`: it takes what it needs with `useChat`. */
export interface PanelProps {
  chatId: string;
}

export interface PanelEntry {
  id: string;
  title: string;
  icon: LucideIcon;
  load: () => Promise<{ default: ComponentType<PanelProps> }>;
  /** A number on the tab, where there is something to count. Cheap: it is asked after every event. */
  count?: (state: OpenChat) => number;
  /** What is counted is a warning. */
  warns?: boolean;
  /** The same where the chat's feed does not tell it. */
  useCount?: (chatId: string) => number;
  /** Whether the chat has such a panel; without it, every chat has. */
  when?: (state: OpenChat) => boolean;
}

const t = texts.panels.titles;

export const PANELS: readonly PanelEntry[] = [
  { id: "trace", title: t.trace, icon: ChartGantt, load: () => import("./trace/Panel") },
  { id: "timeline", title: t.timeline, icon: ListOrdered, load: () => import("./timeline/Panel") },
  {
    id: "changes",
    title: t.changes,
    icon: FileDiff,
    load: () => import("./changes/Panel"),
    count: state => state.collisions.length,
    warns: true,
  },
  {
    id: "agents",
    title: t.agents,
    icon: Bot,
    load: () => import("./agents/Panel"),
    useCount: useAgentCount,
  },
  { id: "workflow", title: t.workflow, icon: Workflow, load: () => import("./workflow/Panel") },
  { id: "flows", title: t.flows, icon: Network, load: () => import("./flows/Panel") },
  { id: "usage", title: t.usage, icon: ChartColumn, load: () => import("./usage/Panel") },
  { id: "debug", title: t.debug, icon: Bug, load: () => import("./debug/Panel") },
];
