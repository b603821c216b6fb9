import { describe, expect, it } from "vitest";
import type { FlowLineShown, FlowRunData, FlowRunFeedEvent, FlowStepShown } from "@/api/schema";
import { isOver, mayRetry, NO_FLOW_RUN, reduceFlowRun } from "./flowRun";

const stepped = (id: string, state: string) =>
  ({ event: "step", id: "", data: { id, state } as FlowStepShown }) as unknown as FlowRunFeedEvent;
const said = (number: number) =>
  ({
    event: "log",
    id: "",
    data: { number, text: `${number}` } as FlowLineShown,
  }) as unknown as FlowRunFeedEvent;

describe("a flow's run", () => {
  it("keeps what was told last of each step, and each line once", () => {
    const events = [
      stepped("a", "running"),
      stepped("b", "pending"),
      said(1),
      stepped("a", "succeeded"),
      said(1),
    ];
    const state = events.reduce(reduceFlowRun, NO_FLOW_RUN);
    expect(Object.values(state.steps).map(step => step.state)).toEqual(["succeeded", "pending"]);
    expect(state.log).toHaveLength(1);
  });

  it("knows when it is over, and what may be run again", () => {
    expect(isOver("waiting")).toBe(false);
    expect(isOver("timed_out")).toBe(true);
    const run = { status: "failed" } as FlowRunData;
    expect(mayRetry(run, { state: "failed" } as FlowStepShown)).toBe(true);
    expect(mayRetry(run, { state: "succeeded" } as FlowStepShown)).toBe(false);
    expect(mayRetry({ status: "running" } as FlowRunData, { state: "failed" } as FlowStepShown)).toBe(false);
  });
});
