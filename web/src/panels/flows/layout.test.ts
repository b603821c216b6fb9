import { describe, expect, it } from "vitest";
import type { FlowGraph, FlowStepShown, GraphStep } from "@/api/schema";
import { edgesOf, elkGraphOf, isExcluded, plainLayout } from "./layout";

const step = (id: string, deps: string[] = [], branches: GraphStep["branches"] = []): GraphStep => ({
  id,
  kind: branches.length > 0 ? "switch" : "agent",
  title: null,
  deps,
  trigger_rule: "all_success",
  when: null,
  batch: null,
  retries: 0,
  timeout_seconds: null,
  on_failure: "fail_run",
  branches,
  form: null,
  approvers: null,
});
const graph: FlowGraph = {
  steps: [
    step("a"),
    step(
      "s",
      ["a"],
      [
        { label: "yes", when: "x", steps: ["b", "c"] },
        { label: null, when: null, steps: ["c"] },
      ],
    ),
    step("b", ["s"]),
    step("c", ["s", "b"]),
  ],
  batches: [],
  output: null,
};

describe("the graph of a flow", () => {
  it("has an edge for every dependency, with the cases that lead there", () => {
    expect(edgesOf(graph).map(edge => [edge.source, edge.target, edge.label])).toEqual([
      ["a", "s", null],
      ["s", "b", "yes"],
      ["s", "c", "yes, default"],
      ["b", "c", null],
    ]);
  });

  it("is given to elk with all its steps", () => {
    const given = elkGraphOf(graph);
    expect(given.children.map(child => child.id)).toEqual(["a", "s", "b", "c"]);
    expect(given.edges).toHaveLength(4);
  });

  it("has every step below those it depends on, without elk too", () => {
    const places = new Map(plainLayout(graph).map(place => [place.id, place.y]));
    for (const edge of edgesOf(graph)) {
      expect(places.get(edge.target)).toBeGreaterThan(places.get(edge.source) ?? 0);
    }
  });

  it("shows the ways that were not taken", () => {
    const steps = { b: { reason: "excluded" } } as unknown as Record<string, FlowStepShown>;
    expect(edgesOf(graph).map(edge => isExcluded(edge, steps))).toEqual([false, true, false, true]);
  });
});
