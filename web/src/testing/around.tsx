// A component as it stands on the page: inside of a chat's feed, a router and what else it looks for. Nothing is
// asked of a server but what a test answers.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { act, cleanup, render } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, vi } from "vitest";
import { ChatFeeds, type OpenChat } from "@/feed/chats";
import { ChatFeedProvider, FeedsProvider } from "@/feed/hooks";

export interface Asked {
  method: string;
  path: string;
  body: unknown;
}

export interface Around {
  /** What was asked of the server, in order. */
  asked: Asked[];
  /** The chat is like this from now on. */
  tell: (state: Partial<OpenChat>) => Promise<void>;
}

export const CHAT = "c1";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

/** `answers`: what the server says to "METHOD /path"; feeds, and what is not listed, stay open. */
export async function drawn(
  children: ReactNode,
  state: Partial<OpenChat> = {},
  answers: Record<string, unknown> = {},
): Promise<Around> {
  const asked: Asked[] = [];
  vi.stubGlobal("fetch", (url: string, init: RequestInit = {}) => {
    const method = init.method ?? "GET";
    const path = url.replace(/^\/api\/v1/, "");
    if (!path.includes("/feed")) {
      asked.push({ method, path, body: init.body ? JSON.parse(String(init.body)) : undefined });
    }
    const answer = answers[`${method} ${path}`];
    return answer === undefined
      ? new Promise(() => undefined)
      : Promise.resolve(new Response(JSON.stringify(answer), { status: 200 }));
  });
  const feeds = new ChatFeeds();
  const { store } = feeds.of(CHAT);
  store.setState({ caughtUp: true, link: "live", ...state });
  const root = createRootRoute();
  const chats = createRoute({
    getParentRoute: () => root,
    path: "/chats/$chatId",
    component: () => <ChatFeedProvider chatId={CHAT}>{children}</ChatFeedProvider>,
  });
  const router = createRouter({
    routeTree: root.addChildren([chats]),
    history: createMemoryHistory({ initialEntries: [`/chats/${CHAT}`] }),
  });
  await act(async () => {
    render(
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <FeedsProvider feeds={feeds}>
          <RouterProvider router={router as never} />
        </FeedsProvider>
      </QueryClientProvider>,
    );
  });
  return {
    asked,
    tell: change => act(async () => store.setState(change)),
  };
}
