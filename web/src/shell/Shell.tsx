// The frame of the page: chats to the left, what is shown in the middle. On a phone the chats are a drawer.

import { useQueryClient } from "@tanstack/react-query";
import { Outlet, useLocation } from "@tanstack/react-router";
import { useEffect } from "react";
import { useShortcuts } from "@/actions/hooks";
import { ChatList } from "@/chats/ChatList";
import { watchChats } from "@/chats/store";
import { useNotifier } from "@/notify/notifier";
import { texts } from "@/texts";
import { Boundary } from "@/ui/Boundary";
import { LIST_WIDTHS, prefer, usePreferences } from "@/ui/preferences";
import { draw, useView } from "@/ui/view";
import { Announcer } from "./Announcer";
import { Dialogs } from "./Dialogs";
import { Drawer } from "./Drawer";
import { Resizer } from "./Resizer";
import { Toasts } from "./Toasts";

function useChatList(): void {
  const notify = useNotifier();
  const queries = useQueryClient();
  useEffect(
    () =>
      watchChats(told => {
        if (told.event === "needs_you") notify(told.data);
        // What sub-agents do is told of the chat they belong to.
        if (told.event === "changed") void queries.invalidateQueries({ queryKey: ["children"] });
      }),
    [notify, queries],
  );
}

/** Seen when it has the focus. Not a plain link: the address stays as it is. */
function Skip({ to, children }: { to: string; children: string }) {
  return (
    <a
      href={`#${to}`}
      onClick={event => {
        event.preventDefault();
        document.getElementById(to)?.focus();
      }}
      className="-translate-y-20 absolute top-2 left-2 z-50 rounded-md bg-accent px-3 py-1.5 text-on-accent focus:translate-y-0"
    >
      {children}
    </a>
  );
}

export function Shell() {
  useShortcuts();
  useChatList();
  const wide = useView(view => view.wide);
  const drawer = useView(view => view.drawer);
  const { listOpen, listWidth } = usePreferences();
  const writes = useLocation({
    select: ({ pathname }) => pathname === "/" || pathname.startsWith("/chats/"),
  });
  return (
    <div className="flex h-dvh overflow-hidden bg-canvas">
      <nav aria-label={texts.shell.skipLinks}>
        <Skip to="conversation">{texts.shell.skip}</Skip>
        {writes && <Skip to="composer">{texts.shell.skipToComposer}</Skip>}
      </nav>
      {wide && listOpen && (
        <nav
          aria-label={texts.shell.chats}
          className="relative shrink-0 border-r bg-sunken"
          style={{ width: listWidth }}
        >
          <Boundary>
            <ChatList />
          </Boundary>
          <Resizer
            label={texts.shell.resizeList}
            side="right"
            width={listWidth}
            {...LIST_WIDTHS}
            onWidth={width => prefer({ listWidth: width })}
          />
        </nav>
      )}
      {!wide && drawer === "chats" && (
        <Drawer side="left" label={texts.shell.chats} onClose={() => draw(null)}>
          <ChatList />
        </Drawer>
      )}
      <div className="flex min-w-0 flex-1 flex-col">
        <Boundary>
          <Outlet />
        </Boundary>
      </div>
      <Dialogs />
      <Toasts />
      <Announcer />
    </div>
  );
}
