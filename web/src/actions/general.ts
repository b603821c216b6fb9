// Actions that are there wherever one is.

import {
  BookOpen,
  Command,
  Keyboard,
  LogOut,
  MessageSquarePlus,
  Monitor,
  Moon,
  PanelLeft,
  PanelRight,
  PenLine,
  Search,
  Settings,
  Sun,
} from "lucide-react";
import { call, tellSignedOut } from "@/api/client";
import { forgetAll } from "@/chats/store";
import { SECTIONS } from "@/settings/sections";
import { texts } from "@/texts";
import { prefer, type Theme, usePreferences } from "@/ui/preferences";
import { draw, show, useView } from "@/ui/view";
import { importChat } from "./importing";
import type { Action } from "./registry";

const t = texts.actions;

const theme = (id: Theme, title: string, icon: Action["icon"]): Action => ({
  id: `theme.${id}`,
  title,
  section: "view",
  ...(icon && { icon }),
  when: () => usePreferences.getState().theme !== id,
  run: () => prefer({ theme: id }),
});

export const general: readonly Action[] = [
  {
    id: "palette",
    title: t.palette,
    section: "general",
    icon: Command,
    keys: ["mod+k"],
    run: () => show({ kind: "palette" }),
  },
  {
    id: "chat.new",
    title: t.newChat,
    section: "general",
    icon: MessageSquarePlus,
    keys: ["alt+n", "c"],
    run: ({ navigate }) => {
      draw(null);
      navigate("/");
      focusSoon("composer");
    },
  },
  importChat,
  {
    id: "chats.search",
    title: t.search,
    section: "general",
    icon: Search,
    keys: ["mod+shift+f", "s"],
    run: () => {
      if (useView.getState().wide) prefer({ listOpen: true });
      else draw("chats");
      focusSoon("chat-search");
    },
  },
  {
    id: "composer.focus",
    title: t.focusComposer,
    section: "general",
    icon: PenLine,
    keys: ["/"],
    run: () => focusSoon("composer"),
  },
  {
    id: "shortcuts",
    title: t.shortcuts,
    section: "general",
    icon: Keyboard,
    keys: ["?"],
    run: () => show({ kind: "shortcuts" }),
  },
  {
    id: "view.list",
    title: t.toggleList,
    section: "view",
    icon: PanelLeft,
    keys: ["mod+b"],
    run: () => {
      const { wide, drawer } = useView.getState();
      if (wide) prefer({ listOpen: !usePreferences.getState().listOpen });
      else draw(drawer === "chats" ? null : "chats");
    },
  },
  {
    id: "view.panel",
    title: t.togglePanel,
    section: "view",
    icon: PanelRight,
    keys: ["mod+alt+b"],
    when: ({ chat }) => chat !== null,
    run: () => {
      const { wide, drawer } = useView.getState();
      if (wide) prefer({ panelOpen: !usePreferences.getState().panelOpen });
      else draw(drawer === "panel" ? null : "panel");
    },
  },
  theme("light", t.themeLight, Sun),
  theme("dark", t.themeDark, Moon),
  theme("system", t.themeSystem, Monitor),
  {
    id: "settings",
    title: t.openSettings,
    section: "settings",
    icon: Settings,
    keys: ["mod+,"],
    run: ({ navigate }) => {
      draw(null);
      navigate("/settings/appearance");
    },
  },
  ...SECTIONS.map(
    (section): Action => ({
      id: `settings.${section.id}`,
      title: t.settings(section.title),
      section: "settings",
      icon: section.icon,
      when: ({ admin }) => admin || !section.admin,
      run: ({ navigate }) => navigate(`/settings/${section.id}`),
    }),
  ),
  {
    id: "docs",
    title: t.documentation,
    section: "settings",
    icon: BookOpen,
    run: () => {
      window.open("/docs/", "_blank", "noopener");
    },
  },
  {
    id: "docs.api",
    title: t.apiReference,
    section: "settings",
    icon: BookOpen,
    run: () => {
      window.open("/docs/api", "_blank", "noopener");
    },
  },
  {
    id: "sign-out",
    title: t.signOut,
    section: "settings",
    icon: LogOut,
    run: signOut,
  },
];

export async function signOut(): Promise<void> {
  await call("DELETE /session");
  forgetAll();
  tellSignedOut();
}

/** The element may only be there after the next drawing. */
export function focusSoon(id: string): void {
  const focus = () => document.getElementById(id)?.focus();
  // At once, so that nothing is lost of what is typed; and when what was just opened stands.
  focus();
  requestAnimationFrame(() => requestAnimationFrame(focus));
}
