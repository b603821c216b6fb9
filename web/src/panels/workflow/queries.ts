// What the workflow panel reads from the server.

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { isOver } from "./run";

const PAGE = 20;
const WHILE_RUNNING_MS = 3000;

export const workflowsQuery = (workspaceId: string | null) =>
  queryOptions({
    queryKey: ["workflows", workspaceId],
    queryFn: async ({ signal }) =>
      (await call("GET /workflows", { query: { workspace_id: workspaceId }, signal })).items,
  });

export const workflowQuery = (name: string, workspaceId: string | null) =>
  queryOptions({
    queryKey: ["workflow", name, workspaceId],
    queryFn: ({ signal }) =>
      call("GET /workflows/{name}", { path: { name }, query: { workspace_id: workspaceId }, signal }),
  });

export const runsQuery = infiniteQueryOptions({
  queryKey: ["runs"],
  queryFn: ({ signal, pageParam }) =>
    call("GET /workflow-runs", { query: { limit: PAGE, cursor: pageParam }, signal }),
  initialPageParam: null as string | null,
  getNextPageParam: page => page.next_cursor,
  refetchOnMount: "always",
  refetchInterval: query =>
    query.state.data?.pages.some(page => page.items.some(run => !isOver(run.status)))
      ? WHILE_RUNNING_MS
      : false,
});
