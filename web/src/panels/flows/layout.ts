// The graph of a flow as something to lay out, and the layout as something to draw. Pure; elk does the work
// between the two, in a worker.

import type { FlowGraph, FlowStepShown } from "@/api/schema";

export const NODE_WIDTH = 176;
export const NODE_HEIGHT = 48;

export interface Edge {
  id: string;
  source: string;
  target: string;
  /** The case of a switch that leads there. */
  label: string | null;
}

export interface Placed {
  id: string;
  x: number;
  y: number;
}

/** What elk is given. */
export interface ElkGraph {
  id: string;
  layoutOptions: Record<string, string>;
  children: { id: string; width: number; height: number }[];
  edges: { id: string; sources: string[]; targets: string[] }[];
}

export function edgesOf(graph: FlowGraph): Edge[] {
  const labels = new Map<string, string[]>();
  for (const step of graph.steps) {
    for (const branch of step.branches ?? []) {
      for (const target of branch.steps) {
        const key = `${step.id} ${target}`;
        labels.set(key, [...(labels.get(key) ?? []), branch.label ?? "default"]);
      }
    }
  }
  return graph.steps.flatMap(step =>
    step.deps.map(dep => ({
      id: `${dep} ${step.id}`,
      source: dep,
      target: step.id,
      label: labels.get(`${dep} ${step.id}`)?.join(", ") ?? null,
    })),
  );
}

export function elkGraphOf(graph: FlowGraph): ElkGraph {
  return {
    id: "flow",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "DOWN",
      "elk.spacing.nodeNode": "24",
      "elk.layered.spacing.nodeNodeBetweenLayers": "40",
      "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
    },
    children: graph.steps.map(step => ({ id: step.id, width: NODE_WIDTH, height: NODE_HEIGHT })),
    edges: edgesOf(graph).map(edge => ({ id: edge.id, sources: [edge.source], targets: [edge.target] })),
  };
}

/** Before elk has answered, or where it cannot: every step below those it depends on. */
export function plainLayout(graph: FlowGraph): Placed[] {
  const depth = new Map<string, number>();
  const depthOf = (id: string, seen: readonly string[] = []): number => {
    const known = depth.get(id);
    if (known !== undefined || seen.includes(id)) return known ?? 0;
    const deps = graph.steps.find(step => step.id === id)?.deps ?? [];
    const found = deps.length === 0 ? 0 : 1 + Math.max(...deps.map(dep => depthOf(dep, [...seen, id])));
    depth.set(id, found);
    return found;
  };
  const filled = new Map<number, number>();
  return graph.steps.map(step => {
    const row = depthOf(step.id);
    const column = filled.get(row) ?? 0;
    filled.set(row, column + 1);
    return { id: step.id, x: column * (NODE_WIDTH + 24), y: row * (NODE_HEIGHT + 40) };
  });
}

/** A way that a switch did not take, or that leads to or from a step that was excluded. */
export function isExcluded(edge: Edge, steps: Readonly<Record<string, FlowStepShown>>): boolean {
  return steps[edge.target]?.reason === "excluded" || steps[edge.source]?.reason === "excluded";
}
