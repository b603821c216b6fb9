// The page begins here.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { onSignedOut } from "./api/client";
import { Problem } from "./api/problem";
import { sessionQuery } from "./api/queries";
import { ChatFeeds } from "./feed/chats";
import { FeedsProvider } from "./feed/hooks";
import { makeRouter } from "./router";
import { Boundary } from "./ui/Boundary";
import { followTheme } from "./ui/preferences";
import { Tips } from "./ui/Tips";
import { followWidth } from "./ui/view";
import "./page.css";

followTheme();
followWidth();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What the server refused once it refuses again; only one that did not answer is asked again.
      retry: (failures, error) =>
        failures < 3 && error instanceof Problem && (error.unreachable || error.status === 503),
    },
  },
});
const router = makeRouter(queries);

onSignedOut(() => {
  if (location.pathname === "/login") return;
  queries.removeQueries({ queryKey: sessionQuery.queryKey });
  void router.navigate({ to: "/login", search: { next: location.pathname + location.hash } });
});

const root = document.getElementById("page");
if (root === null) throw new Error("the document has no place for the page");
createRoot(root).render(
  <StrictMode>
    <Boundary>
      <QueryClientProvider client={queries}>
        <FeedsProvider feeds={new ChatFeeds()}>
          <RouterProvider router={router} />
          <Tips />
        </FeedsProvider>
      </QueryClientProvider>
    </Boundary>
  </StrictMode>,
);
