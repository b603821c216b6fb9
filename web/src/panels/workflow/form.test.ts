import { expect, test } from "vitest";
import { argsOf, fieldsOf, readJson, valuesOf } from "./form";

const SCHEMA = {
  type: "object",
  required: ["topic", "loud"],
  properties: {
    topic: { type: "string", description: "What to look for" },
    agents: { type: "integer", minimum: 1, maximum: 8, default: 3 },
    share: { type: "number" },
    depth: { enum: ["quick", "thorough"] },
    paths: { type: "array", items: { type: "string" } },
    loud: { type: "boolean" },
    schema: { type: "object" },
  },
};
const fields = fieldsOf(SCHEMA) ?? [];

test("each argument gets the field that fits", () => {
  expect(fields.map(field => [field.name, field.kind, field.required])).toEqual([
    ["topic", "text", true],
    ["agents", "number", false],
    ["share", "number", false],
    ["depth", "choice", false],
    ["paths", "lines", false],
    ["loud", "switch", true],
    ["schema", "json", false],
  ]);
});

test("what has no properties is no form", () => {
  expect(fieldsOf(null)).toBeNull();
  expect(fieldsOf({ type: "string" })).toBeNull();
  expect(fieldsOf({ type: "object", properties: {} })).toBeNull();
});

test("what is left empty is left out; a switch is off", () => {
  const values = { ...valuesOf(fields, {}), topic: "bugs" };
  expect(argsOf(fields, values)).toEqual({ args: { topic: "bugs", agents: 3, loud: false }, wrong: {} });
});

test("everything filled in", () => {
  const values = {
    topic: "bugs",
    agents: "5",
    share: "0.5",
    depth: "quick",
    paths: "src\n\ntests\n",
    loud: "true",
    schema: '{"a": [1]}',
  };
  const args = {
    topic: "bugs",
    agents: 5,
    share: 0.5,
    depth: "quick",
    paths: ["src", "tests"],
    loud: true,
    schema: { a: [1] },
  };
  expect(argsOf(fields, values)).toEqual({ args, wrong: {} });
  expect(argsOf(fields, valuesOf(fields, args)).args).toEqual(args);
});

test("what is wrong is said by field", () => {
  const values = { topic: " ", agents: "2.5", share: "much", schema: "{" };
  expect(argsOf(fields, values).wrong).toEqual({
    topic: "missing",
    agents: "number",
    share: "number",
    schema: "json",
  });
  expect(argsOf(fields, { topic: "x", agents: "9" }).wrong).toEqual({ agents: "range" });
});

test("JSON as it was typed", () => {
  expect(readJson(" ")).toEqual({ args: undefined, wrong: null });
  expect(readJson("[1]").args).toEqual([1]);
  expect(readJson("{").wrong).not.toBeNull();
});
