// What the flows panel reads from the server.

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { isOver } from "./flowRun";

const PAGE = 20;
const WHILE_RUNNING_MS = 3000;

export const flowsQuery = (workspaceId: string | null) =>
  queryOptions({
    queryKey: ["flows", workspaceId],
    queryFn: async ({ signal }) =>
      (await call("GET /flows", { query: { workspace_id: workspaceId }, signal })).items,
  });

export const flowQuery = (name: string, workspaceId: string | null) =>
  queryOptions({
    queryKey: ["flow", name, workspaceId],
    queryFn: ({ signal }) =>
      call("GET /flows/{name}", { path: { name }, query: { workspace_id: workspaceId }, signal }),
  });

/** The graph of a run never changes. */
export const flowGraphQuery = (id: string) =>
  queryOptions({
    queryKey: ["flow-graph", id],
    queryFn: async ({ signal }) =>
      (await call("GET /flow-runs/{flow_run_id}", { path: { flow_run_id: id }, signal })).graph,
    staleTime: Number.POSITIVE_INFINITY,
  });

export const flowRunsQuery = infiniteQueryOptions({
  queryKey: ["flow-runs"],
  queryFn: ({ signal, pageParam }) =>
    call("GET /flow-runs", { query: { limit: PAGE, cursor: pageParam }, signal }),
  initialPageParam: null as string | null,
  getNextPageParam: page => page.next_cursor,
  refetchOnMount: "always",
  refetchInterval: query =>
    query.state.data?.pages.some(page => page.items.some(run => !isOver(run.status)))
      ? WHILE_RUNNING_MS
      : false,
});
