// A run as its feed tells it: (state, event) -> state, pure. Being told something twice changes nothing.

import type { Budget, CallShown, LineShown, RunData, RunFeedEvent, RunPhase } from "@/api/schema";

export interface RunState {
  run: RunData | null;
  phases: readonly RunPhase[];
  /** In the order in which they were made. */
  calls: readonly CallShown[];
  log: readonly LineShown[];
  budget: Budget | null;
  caughtUp: boolean;
}

export const NO_RUN: RunState = {
  run: null,
  phases: [],
  calls: [],
  log: [],
  budget: null,
  caughtUp: false,
};

export type RunEvent = RunFeedEvent;

export function reduceRun(state: RunState, event: RunEvent): RunState {
  switch (event.event) {
    case "run":
      return { ...state, run: event.data, budget: state.budget ?? event.data.budget };
    case "phase":
      return { ...state, phases: put(state.phases, event.data, phase => phase.title) };
    case "log":
      return { ...state, log: put(state.log, event.data, line => line.number) };
    case "call":
      return { ...state, calls: put(state.calls, event.data, call => call.id) };
    case "budget":
      return { ...state, budget: event.data };
    case "caught_up":
      return { ...state, caughtUp: true };
    case "closing":
      return state;
  }
}

function put<T>(all: readonly T[], one: T, key: (item: T) => unknown): readonly T[] {
  const at = all.findIndex(item => key(item) === key(one));
  return at < 0 ? [...all, one] : all.with(at, one);
}

type Status = RunData["status"];

export function isOver(status: Status | undefined): boolean {
  return status === "succeeded" || status === "failed" || status === "cancelled";
}

// --- phases ---

export interface PhaseGroup {
  /** Empty: calls outside of every phase. */
  title: string;
  detail: string | null;
  state: "coming" | "now" | "over";
  calls: readonly CallShown[];
  done: number;
}

/** The phases with their calls, planned ones first; calls without a phase go in front. */
export function phasesOf(state: RunState): PhaseGroup[] {
  const titles = new Set(state.phases.map(phase => phase.title));
  const known: RunPhase[] = [...state.phases];
  for (const { phase } of state.calls) {
    if (phase === null || titles.has(phase)) continue;
    titles.add(phase);
    known.push({ title: phase, detail: null, model: null, started_at: "" });
  }
  const groups = known.map(phase => groupOf(state, phase));
  const outside = state.calls.filter(call => call.phase === null);
  if (outside.length === 0) return groups;
  return [groupOf(state, { title: "", detail: null, model: null, started_at: "" }, outside), ...groups];
}

function groupOf(
  state: RunState,
  phase: RunPhase,
  calls = state.calls.filter(call => call.phase === phase.title),
): PhaseGroup {
  const done = calls.filter(call => call.finished_at !== null).length;
  const group = { title: phase.title, detail: phase.detail, calls, done };
  return { ...group, state: standing(state, phase, calls.length, done) };
}

function standing(state: RunState, phase: RunPhase, made: number, done: number): PhaseGroup["state"] {
  if (phase.started_at === null && made === 0) return "coming";
  if (isOver(state.run?.status)) return "over";
  if (done < made) return "now";
  // One that nothing happens in is over when another one has begun after it.
  const later = state.phases.some(other => (other.started_at ?? "") > (phase.started_at ?? "~"));
  return later || phase.title === "" ? "over" : "now";
}

export function reusedOf(state: RunState): number {
  return state.calls.filter(call => call.reused).length;
}
