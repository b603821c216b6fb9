// The pages of the settings, for the page itself and for the actions that open them.

import {
  Bot,
  Boxes,
  FolderGit2,
  FolderPlus,
  KeyRound,
  type LucideIcon,
  Palette,
  Plug,
  ShieldCheck,
  Users,
  Webhook,
} from "lucide-react";
import { texts } from "@/texts";

export type SectionId =
  | "appearance"
  | "models"
  | "agents"
  | "workspaces"
  | "templates"
  | "mcp"
  | "hooks"
  | "tokens"
  | "users"
  | "approvals";

export interface SettingsSection {
  id: SectionId;
  title: string;
  icon: LucideIcon;
  admin?: boolean;
}

const t = texts.settings.sections;

export const SECTIONS: readonly SettingsSection[] = [
  { id: "appearance", title: t.appearance, icon: Palette },
  { id: "models", title: t.models, icon: Boxes },
  { id: "agents", title: t.agents, icon: Bot },
  { id: "workspaces", title: t.workspaces, icon: FolderGit2 },
  { id: "templates", title: t.templates, icon: FolderPlus },
  { id: "mcp", title: t.mcp, icon: Plug },
  { id: "hooks", title: t.hooks, icon: Webhook },
  { id: "approvals", title: t.approvals, icon: ShieldCheck },
  { id: "tokens", title: t.tokens, icon: KeyRound },
  { id: "users", title: t.users, icon: Users, admin: true },
];
