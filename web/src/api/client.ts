// A thin typed fetch over the routes of the server's own description. Everything that fails is a `Problem`; a
// session that has ended is told to whoever listens (the page goes to its sign-in).

import { texts } from "@/texts";
import { Problem, problemOf } from "./problem";
import type { Routes } from "./schema";

export const PREFIX = "/api/v1";

export type Route = keyof Routes;
export type Answer<R extends Route> = Routes[R]["answer"];

type Names<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
type Needs<R extends Route> = ([Names<R>] extends [never]
  ? { path?: undefined }
  : { path: Record<Names<R>, string> }) &
  (Routes[R] extends { body: infer B } ? { body: B } : { body?: undefined }) &
  (Routes[R] extends { query: infer Q } ? { query?: Q } : { query?: undefined });

interface More {
  signal?: AbortSignal;
  /** A key under which the server does this once, however often it is sent. */
  once?: string;
}

type Given<R extends Route> = Needs<R> & More;
type Arguments<R extends Route> =
  Record<never, never> extends Needs<R> ? [given?: Given<R>] : [given: Given<R>];

/** The same, when the route is only known to have them. */
interface Sent extends More {
  path?: object | undefined;
  query?: object | undefined;
  body?: unknown;
}

const signedOut = new Set<() => void>();

/** Called when the server does not know the session (any more). */
export function onSignedOut(listener: () => void): () => void {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

export function tellSignedOut(): void {
  for (const listener of signedOut) listener();
}

export async function call<R extends Route>(route: R, ...[given]: Arguments<R>): Promise<Answer<R>> {
  const response = await request(route, given as Sent | undefined);
  if (response.status === 204) return undefined as Answer<R>;
  return (await response.json()) as Answer<R>;
}

/** A file is JSON already. */
function written(body: unknown): BodyInit | undefined {
  if (body === undefined || body instanceof Blob) return body;
  return JSON.stringify(body);
}

/** The response itself, for what is not JSON. */
export async function request(route: Route, given: Sent = {}): Promise<Response> {
  const [method, template] = route.split(" ") as [string, string];
  const headers: Record<string, string> = {};
  if (given.body !== undefined) headers["Content-Type"] = "application/json";
  if (given.once !== undefined) headers["Idempotency-Key"] = given.once;
  const response = await reach(urlOf(template, given.path, given.query), {
    method,
    headers,
    body: written(given.body),
    signal: given.signal,
  });
  if (response.ok) return response;
  if (response.status === 401 && route !== "POST /session") tellSignedOut();
  throw await problemOf(response);
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Problem({ status: 0, code: "unreachable", detail: texts.problems.unreachable });
  }
}

export function urlOf(template: string, path: object | undefined, query: object | undefined): string {
  const names = (path ?? {}) as Record<string, string>;
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(names[name] ?? ""));
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  const search = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return PREFIX + filled + (search ? `?${search}` : "");
}

/** A key for `once`. Not `randomUUID`, which browsers keep from pages that came without TLS. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
