// The settings: a list of sections, and the one that is shown.

import { Link, useParams } from "@tanstack/react-router";
import clsx from "clsx";
import type { ComponentType } from "react";
import { useSession } from "@/api/queries";
import { ListToggle } from "@/chat/TopBar";
import { NotFound } from "@/shell/NotFound";
import { texts } from "@/texts";
import { Agents } from "./Agents";
import { Appearance } from "./Appearance";
import { Approvals } from "./Approvals";
import { Hooks } from "./Hooks";
import { McpServers } from "./McpServers";
import { Models } from "./Models";
import { SECTIONS, type SectionId } from "./sections";
import { Templates } from "./Templates";
import { Tokens } from "./Tokens";
import { Users } from "./Users";
import { Workspaces } from "./Workspaces";

const PAGES: Record<SectionId, ComponentType> = {
  appearance: Appearance,
  models: Models,
  agents: Agents,
  workspaces: Workspaces,
  templates: Templates,
  mcp: McpServers,
  hooks: Hooks,
  approvals: Approvals,
  tokens: Tokens,
  users: Users,
};

const intoSight = (element: HTMLElement | null) =>
  element?.scrollIntoView({ block: "nearest", inline: "center" });

export default function SettingsPage() {
  const { section } = useParams({ strict: false });
  const admin = useSession().data?.scopes.includes("admin") ?? false;
  const offered = SECTIONS.filter(one => admin || !one.admin);
  const shown = offered.find(one => one.id === section);
  const Page = shown && PAGES[shown.id];
  if (Page === undefined) return <NotFound />;
  return (
    <>
      <header className="flex h-12 shrink-0 items-center gap-2 border-b px-2 sm:px-3">
        <ListToggle />
        <h1 className="font-semibold text-sm">{texts.settings.title}</h1>
      </header>
      <div className="flex min-h-0 flex-1 flex-col md:flex-row">
        <nav
          aria-label={texts.settings.title}
          className="shrink-0 overflow-x-auto border-b p-2 md:w-56 md:border-r md:border-b-0"
        >
          <ul className="flex w-max gap-0.5 pr-2 md:w-auto md:flex-col md:pr-0">
            {offered.map(one => (
              <li key={one.id}>
                <Link
                  to="/settings/$section"
                  params={{ section: one.id }}
                  // On a phone they stand in a row that is longer than the screen.
                  ref={one.id === section ? intoSight : undefined}
                  aria-current={one.id === section ? "page" : undefined}
                  className={clsx(
                    "flex items-center gap-2 whitespace-nowrap rounded-md px-2.5 py-1.5 text-sm",
                    one.id === section ? "bg-chosen font-medium" : "text-soft hover:bg-hover hover:text-text",
                  )}
                >
                  <one.icon aria-hidden className="size-4 shrink-0" />
                  {one.title}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <main
          id="conversation"
          tabIndex={-1}
          className="min-w-0 flex-1 overflow-y-auto p-4 outline-none md:p-6"
        >
          <div className="mx-auto flex max-w-3xl flex-col gap-6">
            <h2 className="font-semibold text-lg">{shown?.title}</h2>
            <Page />
          </div>
        </main>
      </div>
    </>
  );
}
