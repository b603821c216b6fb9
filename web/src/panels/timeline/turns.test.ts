import { expect, test } from "vitest";
import { span, turn } from "@/panels/spans.sample";
import { turnLines } from "./turns";

test("a turn in numbers", () => {
  const agent = span({ id: "agent-1", kind: "agent", parent_id: "call-1" });
  const [line] = turnLines([...turn(1, 0, "failed"), agent]);
  expect(line).toMatchObject({
    turn: 1,
    asked: "Do it",
    active: false,
    models: ["demo"],
    steps: 1,
    tools: 1,
    failedTools: 1,
    agents: 1,
    input: 1000,
    output: 50,
    cachedPercent: 70,
    costMicros: 3000,
  });
});

test("the one that goes on is the active one, and stands first", () => {
  const [going, ...rest] = turn(2, 10);
  const lines = turnLines([
    ...turn(1),
    ...rest,
    ...(going ? [{ ...going, finished_at: null, outcome: null }] : []),
  ]);
  expect(lines.map(line => [line.turn, line.active])).toEqual([
    [2, true],
    [1, false],
  ]);
});
