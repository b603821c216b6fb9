import { expect, test } from "vitest";
import { contentOf, fieldsOf } from "./mcpFields";

const schema = {
  type: "object",
  properties: {
    colour: { type: "string", enum: ["red", "blue"], title: "Colour" },
    size: { type: "integer", description: "In metres." },
    now: { type: "boolean" },
  },
  required: ["colour"],
};

test("a schema becomes fields, and what is no schema becomes none", () => {
  expect(fieldsOf(schema).map(one => [one.name, one.title, one.kind, one.required])).toEqual([
    ["colour", "Colour", "text", true],
    ["size", "size", "number", false],
    ["now", "now", "boolean", false],
  ]);
  for (const wrong of [null, 1, "x", [], { properties: [] }, { properties: { a: null } }]) {
    expect(() => fieldsOf(wrong)).not.toThrow();
  }
});

test("what was filled in has the types that were asked for", () => {
  expect(contentOf(fieldsOf(schema), { colour: "blue", size: "3" })).toEqual({
    colour: "blue",
    size: 3,
    now: false,
  });
  expect(contentOf(fieldsOf(schema), { size: "many" })).toEqual({ size: "many", now: false });
});
