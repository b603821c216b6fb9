// A trace as rows: turns with their totals, in them a tree of spans with the time each covers. Pure: what is
// drawn, folded or filtered is decided here and only drawn elsewhere.

import type { Span } from "@/api/schema";
import { spent } from "./cache";

/** Milliseconds since 1970. `end` is null while it goes on. */
export interface Extent {
  start: number;
  end: number | null;
}

export interface Node {
  span: Span;
  /** With everything inside: a step lasts until its tool calls are done. */
  extent: Extent | null;
  /** A person is asked, about it or about something inside. */
  waits: boolean;
  children: readonly Node[];
}

export interface Totals {
  spans: number;
  tools: number;
  tokens: number;
  costMicros: number;
  errors: number;
}

export interface Group {
  turn: number;
  /** The turn's own span; null where only spans inside of it are known. */
  span: Span | null;
  extent: Extent | null;
  /** Since when nothing happens but that a person is waited for. */
  waitsSince: number | null;
  /** All of them, in no order. */
  spans: readonly Span[];
  nodes: readonly Node[];
  totals: Totals;
}

/** The ids of spans that a person is asked about. */
export type Asked = ReadonlySet<string>;
const NOBODY: Asked = new Set();

/** The turns, the newest first. */
export function grouped(spans: Iterable<Span>, asked: Asked = NOBODY): Group[] {
  const turns = new Map<number, Span[]>();
  for (const span of spans) {
    const known = turns.get(span.turn);
    if (known === undefined) turns.set(span.turn, [span]);
    else known.push(span);
  }
  return [...turns]
    .sort(([one], [other]) => other - one)
    .map(([turn, inside]) =>
      inside.some(span => asked.has(span.id)) ? layOut(turn, inside, asked) : groupOf(turn, inside),
    );
}

/** Turns that did not change are not laid out anew: of many thousand spans mostly one has moved. */
const laidOut = new WeakMap<Span, Group>();

function groupOf(turn: number, inside: readonly Span[]): Group {
  const first = inside[0];
  const before = first && laidOut.get(first);
  if (before?.spans.length === inside.length && before.spans.every((one, index) => one === inside[index])) {
    return before;
  }
  const group = layOut(turn, inside, NOBODY);
  if (first !== undefined) laidOut.set(first, group);
  return group;
}

function layOut(turn: number, inside: readonly Span[], asked: Asked): Group {
  const own = inside.find(span => span.kind === "turn") ?? null;
  const others = inside.filter(span => span !== own);
  const nodes = treeOf(others, asked);
  const found = joined(nodes.map(node => node.extent));
  const extent = own === null ? found : (extentOf(own) ?? found);
  const waitsSince = restsSince(nodes);
  return { turn, span: own, extent, waitsSince, spans: inside, nodes, totals: totalsOf(inside) };
}

/** When the last of them ended, if all that goes on is that a person is asked. */
function restsSince(nodes: readonly Node[]): number | null {
  const leaves = nodes.flatMap(leavesOf);
  if (!leaves.some(node => node.waits)) return null;
  const moments = leaves.flatMap(({ extent, waits }) =>
    extent === null ? [] : waits ? extent.start : [extent.end],
  );
  const known = moments.filter(moment => moment !== null);
  return known.length < moments.length ? null : Math.max(...known);
}

const leavesOf = (node: Node): readonly Node[] =>
  node.children.length === 0 ? [node] : node.children.flatMap(leavesOf);

function treeOf(spans: readonly Span[], asked: Asked): Node[] {
  const known = new Set(spans.map(span => span.id));
  const inside = new Map<string, Span[]>();
  const roots: Span[] = [];
  for (const span of spans) {
    if (span.parent_id === null || !known.has(span.parent_id)) roots.push(span);
    else if (!inside.has(span.parent_id)) inside.set(span.parent_id, [span]);
    else inside.get(span.parent_id)?.push(span);
  }
  const nodeOf = (span: Span, parent: Span | null): Node => {
    const children = (inside.get(span.id) ?? []).sort(byStart).map(child => nodeOf(child, span));
    const parts = span.kind === "step" ? children.map(child => child.extent) : [];
    const isAsked = asked.has(span.id) && span.outcome === null;
    const own = extentOf(span) ?? (isAsked ? after(parent) : null);
    return {
      span,
      children,
      extent: joined([own, ...parts]),
      waits: isAsked || children.some(child => child.waits),
    };
  };
  return roots.sort(byStart).map(span => nodeOf(span, null));
}

/** What has not begun waits since the model has asked for it. */
function after(step: Span | null): Extent | null {
  const since = step?.finished_at ?? step?.started_at;
  return since ? { start: Date.parse(since), end: null } : null;
}

function byStart(one: Span, other: Span): number {
  const [first, second] = [one.started_at ?? "~", other.started_at ?? "~"];
  return first === second ? 0 : first < second ? -1 : 1;
}

function extentOf(span: Span): Extent | null {
  if (span.started_at === null) return null;
  const end = span.finished_at === null ? null : Date.parse(span.finished_at);
  return { start: Date.parse(span.started_at), end };
}

function joined(extents: readonly (Extent | null)[]): Extent | null {
  const found = extents.filter(one => one !== null);
  if (found.length === 0) return null;
  return {
    start: Math.min(...found.map(one => one.start)),
    end: found.some(one => one.end === null) ? null : Math.max(...found.map(one => one.end ?? 0)),
  };
}

export function lasted(extent: Extent, now: number): number {
  return Math.max(0, (extent.end ?? now) - extent.start);
}

export function isFailed(span: Span): boolean {
  return span.failure !== null || FAILED.has(span.outcome ?? "");
}

const FAILED = new Set(["failed", "denied", "expired", "uncertain"]);

function totalsOf(spans: readonly Span[]): Totals {
  const totals: Totals = { spans: 0, tools: 0, tokens: 0, costMicros: 0, errors: 0 };
  for (const span of spans) {
    // A turn's failure is that of something inside, and a step is its model call with the tools: counted once.
    if (span.kind === "turn" || span.kind === "step") continue;
    totals.spans += 1;
    if (span.kind === "tool_call") totals.tools += 1;
    if (isFailed(span)) totals.errors += 1;
    const usage = spent(span);
    totals.tokens += usage?.total ?? 0;
    totals.costMicros += usage?.cost_usd_micros ?? 0;
  }
  return totals;
}

// --- rows ---

export type Row =
  | { kind: "turn"; key: string; group: Group; open: boolean }
  | { kind: "span"; key: string; group: Group; node: Node; depth: number; open: boolean | null };

/** What is looked for. Empty: everything. */
export interface Filter {
  words: string;
  kinds: ReadonlySet<Span["kind"]>;
  failedOnly: boolean;
}

export const EVERYTHING: Filter = { words: "", kinds: new Set(), failedOnly: false };

export function isFiltering(filter: Filter): boolean {
  return filter.words !== "" || filter.kinds.size > 0 || filter.failedOnly;
}

/** What a person unfolded (true) or folded, by key. Else the newest turn is open, and everything inside of one. */
export type Folds = ReadonlyMap<string, boolean>;

/** What is looked for is shown wherever it stands. */
export function rowsOf(groups: readonly Group[], folds: Folds, filter: Filter): Row[] {
  const filtering = isFiltering(filter);
  const rows: Row[] = [];
  groups.forEach((group, index) => {
    const nodes = filtering ? kept(group.nodes, filter) : group.nodes;
    if (filtering && nodes.length === 0) return;
    const key = `turn-${group.turn}`;
    const open = filtering || (folds.get(key) ?? index === 0);
    rows.push({ kind: "turn", key, group, open });
    if (open) addRows(rows, group, nodes, 0, folds);
  });
  return rows;
}

function addRows(rows: Row[], group: Group, nodes: readonly Node[], depth: number, folds: Folds): void {
  for (const node of nodes) {
    const key = node.span.id;
    const open = node.children.length === 0 ? null : (folds.get(key) ?? true);
    rows.push({ kind: "span", key, group, node, depth, open });
    if (open) addRows(rows, group, node.children, depth + 1, folds);
  }
}

/** Those that fit, with what they stand in. */
function kept(nodes: readonly Node[], filter: Filter): Node[] {
  return nodes.flatMap(node => {
    const children = kept(node.children, filter);
    return children.length > 0 || fits(node.span, filter) ? [{ ...node, children }] : [];
  });
}

export function fits(span: Span, filter: Filter): boolean {
  if (filter.kinds.size > 0 && !filter.kinds.has(span.kind)) return false;
  if (filter.failedOnly && !isFailed(span)) return false;
  return filter.words === "" || saidIn(span).includes(filter.words.toLowerCase());
}

const said = new WeakMap<Span, string>();

function saidIn(span: Span): string {
  const known = said.get(span);
  if (known !== undefined) return known;
  const pieces = [span.name, span.kind, asText(span.input), asText(span.output), span.failure?.message ?? ""];
  const text = pieces.join("\n").toLowerCase();
  said.set(span, text);
  return text;
}

function asText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** From here on a span of this kind took unusually long: only then is it red. */
const UNUSUAL_MS: Record<Span["kind"], number> = {
  turn: 600_000,
  agent: 600_000,
  step: 300_000,
  model_call: 120_000,
  compaction: 120_000,
  tool_call: 60_000,
  check: 60_000,
  hook: 60_000,
  title: 60_000,
  summary: 60_000,
};

export function looksAt(milliseconds: number, kind: Span["kind"]): "good" | "soft" | "warn" | "bad" {
  if (milliseconds >= UNUSUAL_MS[kind]) return "bad";
  return milliseconds < 1000 ? "good" : milliseconds < 5000 ? "soft" : "warn";
}
