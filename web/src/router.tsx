// The addresses of the page: /login, / (a new chat), /chats/<id>#<message>, /settings/<section>.

import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { Problem } from "./api/problem";
import { sessionQuery } from "./api/queries";
import { ChatPage } from "./chat/ChatPage";
import { Home } from "./home/Home";
import { Login } from "./login/Login";
import { Broken } from "./shell/Broken";
import { NotFound } from "./shell/NotFound";
import { Shell } from "./shell/Shell";

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
  errorComponent: Broken,
});

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  component: Login,
  validateSearch: (search: Record<string, unknown>): { next?: string } => ({
    // Only a place of this page: never another site.
    ...(typeof search.next === "string" && /^\/(?!\/)/.test(search.next) && { next: search.next }),
  }),
});

const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queries.ensureQueryData(sessionQuery);
    } catch (error) {
      if (error instanceof Problem && error.status === 401) {
        throw redirect({ to: "/login", search: location.pathname === "/" ? {} : { next: location.href } });
      }
      throw error;
    }
  },
});

const home = createRoute({ getParentRoute: () => signedIn, path: "/", component: Home });
const chats = createRoute({
  getParentRoute: () => signedIn,
  path: "/chats",
  beforeLoad: () => {
    throw redirect({ to: "/" });
  },
});
export const chatRoute = createRoute({
  getParentRoute: () => signedIn,
  path: "/chats/$chatId",
  component: function Chat() {
    const { chatId } = chatRoute.useParams();
    return <ChatPage key={chatId} chatId={chatId} />;
  },
});
const settings = createRoute({
  getParentRoute: () => signedIn,
  path: "/settings",
  beforeLoad: () => {
    throw redirect({ to: "/settings/$section", params: { section: "appearance" } });
  },
});
const settingsSection = createRoute({
  getParentRoute: () => signedIn,
  path: "/settings/$section",
  component: lazyRouteComponent(() => import("./settings/SettingsPage")),
});

const tree = root.addChildren([
  login,
  signedIn.addChildren([home, chats, chatRoute, settings, settingsSection]),
]);

export function makeRouter(queries: QueryClient) {
  return createRouter({ routeTree: tree, context: { queries }, scrollRestoration: false });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
