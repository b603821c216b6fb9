// What is read from the server and kept for a while: who is signed in, models, settings.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { call } from "./client";

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => call("GET /session", { signal }),
  staleTime: 5 * 60_000,
});

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: async ({ signal }) => (await call("GET /models", { query: { limit: 200 }, signal })).items,
});

export const toolsQuery = queryOptions({
  queryKey: ["tools"],
  queryFn: async ({ signal }) => (await call("GET /tools", { query: { limit: 200 }, signal })).items,
  staleTime: 5 * 60_000,
});

export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: ({ signal }) => call("GET /settings", { signal }),
});

export const workspacesQuery = queryOptions({
  queryKey: ["workspaces"],
  queryFn: async ({ signal }) => (await call("GET /workspaces", { query: { limit: 200 }, signal })).items,
});

export const templatesQuery = queryOptions({
  queryKey: ["templates"],
  queryFn: async ({ signal }) => (await call("GET /templates", { signal })).items,
});

export const workspaceBuildQuery = (buildId: string) =>
  queryOptions({
    queryKey: ["workspace-build", buildId],
    queryFn: ({ signal }) =>
      call("GET /workspace-builds/{build_id}", { path: { build_id: buildId }, signal }),
    refetchInterval: query => (query.state.data?.state === "building" || !query.state.data ? 500 : false),
  });

export const agentsQuery = queryOptions({
  queryKey: ["agents"],
  queryFn: async ({ signal }) => (await call("GET /agents", { query: { limit: 200 }, signal })).items,
});

/** Agents that a workspace brings along as files, trusted or not. */
export const workspaceAgentsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ["workspace-agents", workspaceId],
    queryFn: async ({ signal }) => {
      const path = { workspace_id: workspaceId };
      return (await call("GET /workspaces/{workspace_id}/agents", { path, signal })).items;
    },
  });

export const modesQuery = queryOptions({
  queryKey: ["modes"],
  queryFn: async ({ signal }) => (await call("GET /modes", { signal })).items,
});

export const mcpServersQuery = (workspaceId: string | null) =>
  queryOptions({
    queryKey: ["mcp-servers", workspaceId],
    queryFn: async ({ signal }) =>
      (await call("GET /mcp-servers", { query: { workspace_id: workspaceId }, signal })).items,
  });

export const hooksQuery = (workspaceId: string | null) =>
  queryOptions({
    queryKey: ["hooks", workspaceId],
    queryFn: async ({ signal }) =>
      (await call("GET /hooks", { query: { workspace_id: workspaceId }, signal })).items,
  });

export const mcpValuesQuery = queryOptions({
  queryKey: ["mcp-values"],
  queryFn: async ({ signal }) => (await call("GET /mcp-values", { signal })).items,
});

export const mcpQuestionsQuery = (chatId: string) =>
  queryOptions({
    queryKey: ["mcp-questions", chatId],
    queryFn: async ({ signal }) =>
      (await call("GET /chats/{chat_id}/mcp-questions", { path: { chat_id: chatId }, signal })).items,
  });

export const trustQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ["trust", workspaceId],
    queryFn: async ({ signal }) =>
      (await call("GET /workspaces/{workspace_id}/trust", { path: { workspace_id: workspaceId }, signal }))
        .items,
  });

/** The chats that were started by a chat. */
export const childrenQuery = (parentId: string) =>
  queryOptions({
    queryKey: ["children", parentId],
    queryFn: async ({ signal }) => {
      const query = { parent_id: parentId, limit: 200, archived: null };
      const page = await call("GET /chats", { query, signal });
      return [...page.items].reverse();
    },
  });

export const useSession = () => useQuery(sessionQuery);
export const useModels = () => useQuery(modelsQuery);
