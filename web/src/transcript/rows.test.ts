import { describe, expect, it } from "vitest";
import type { Message } from "@/api/schema";
import type { LivePart } from "@/feed/state";
import { idOf, messageWith } from "@/testing/made";
import { blocksOf, gapAmong, type Row, reusing, rowOf, rowsOf, withPreview } from "./rows";

const text = (said: string) => ({ type: "text" as const, text: said });
const think = (thought: string) => ({
  type: "reasoning" as const,
  text: thought,
  title: null,
  started_at: null,
  finished_at: null,
});
const call = (id: string, name = "list") => ({
  type: "tool_call" as const,
  call_id: id,
  name,
  input: {},
  provider_executed: false,
});
const result = (id: string) => ({
  type: "tool_result" as const,
  call_id: id,
  name: "list",
  output: "",
  outcome: "succeeded" as const,
  diff: null,
  truncated: false,
  started_at: null,
  finished_at: null,
});
const said = (n: number, role: Message["role"], ...parts: Message["parts"]) =>
  messageWith({ id: idOf(n), role, parts });
const history = (...messages: Message[]) => ({ messages, keys: new Map<string, string>() });
const shape = (rows: readonly Row[]) => rows.map(row => `${row.kind} ${row.entries.length}`);
const preview = (...parts: LivePart[]) => ({
  historyVersion: 9,
  attempt: 1,
  n: 1,
  role: "assistant" as const,
  parts,
});

const WORK = history(
  said(1, "user", text("do it")),
  said(2, "assistant", text("I begin."), call("a")),
  said(3, "tool", result("a")),
  said(4, "assistant", think("hm"), call("b")),
  said(5, "tool", result("b")),
  said(6, "assistant", call("c")),
  said(7, "tool", result("c")),
  said(8, "assistant", text("Done.")),
);

describe("rows", () => {
  it("put steps without a word together, and show results with their calls", () => {
    expect(shape(rowsOf(WORK))).toEqual(["user 1", "agent 3", "agent 1"]);
    const [, work] = rowsOf(WORK);
    const blocks = work ? blocksOf(work) : [];
    expect(blocks.map(block => block.kind)).toEqual(["part", "steps"]);
    expect(blocks[1]?.kind === "steps" && blocks[1].lines.map(line => line.part.type)).toEqual([
      "tool_call",
      "reasoning",
      "tool_call",
      "tool_call",
    ]);
  });

  it("take what streams into the row it will be in", () => {
    const rows = rowsOf(history(...WORK.messages.slice(0, 7)));
    expect(shape(withPreview(rows, preview(call("d"))))).toEqual(["user 1", "agent 4"]);
    expect(shape(withPreview(rows, preview(text("So"))))).toEqual(["user 1", "agent 3", "agent 1"]);
    expect(withPreview(rows, null)).toBe(rows);
  });

  it("keep their keys when what streamed is committed, and when history is loaded in front", () => {
    const tail = WORK.messages.slice(3);
    const broken = new Set([idOf(4)]);
    const before = rowsOf(history(...tail), broken).map(row => row.key);
    const after = rowsOf(WORK, broken).map(row => row.key);
    expect(after.slice(-before.length)).toEqual(before);
  });

  it("begin where history began when it was loaded, also at a result that is not shown", () => {
    expect(shape(rowsOf(WORK, new Set([idOf(5)])))).toEqual(["user 1", "agent 2", "agent 1", "agent 1"]);
  });

  it("are the same objects as long as nothing in them changes", () => {
    const before = rowsOf(WORK);
    const more = [...WORK.messages, said(9, "user", text("and?"))];
    const after = reusing(before, rowsOf(history(...more)));
    expect(after.slice(0, 3).every((row, index) => row === before[index])).toBe(true);
    expect(after).toHaveLength(4);
  });

  it("let a compaction stand by itself", () => {
    const summary = { ...said(9, "assistant", call("s", "chat_summarized")), compaction: true };
    expect(shape(rowsOf(history(...WORK.messages.slice(0, 7), summary)))).toEqual([
      "user 1",
      "agent 3",
      "agent 1",
    ]);
  });

  it("show notices by themselves and files with the work", () => {
    const file = { type: "file" as const, file_id: "f", media_type: "image/png", name: "a.png", size: 1 };
    const notice = { type: "notice" as const, code: "agent", text: "ended" };
    const rows = rowsOf(
      history(
        said(1, "assistant", call("a", "attach_file")),
        said(2, "tool", result("a"), file),
        said(3, "system", notice),
      ),
    );
    expect(shape(rows)).toEqual(["agent 2", "notice 1"]);
  });

  it("are found by a message in them, and by a gap near them", () => {
    const rows = rowsOf(WORK);
    expect(rowOf(rows, idOf(6))).toBe(1);
    expect(rowOf(rows, idOf(99))).toBe(-1);
    expect(gapAmong(rows, 0, 2, new Set([idOf(3)]))).toBe(idOf(3));
    expect(gapAmong(rows, 2, 2, new Set([idOf(3)]))).toBeNull();
  });

  it("of 20 000 messages are made in no time worth speaking of", () => {
    const many = history(...Array.from({ length: 20_000 }, (_, n) => said(n, "assistant", text("x"))));
    expect(rowsOf(many)).toHaveLength(20_000);
  });
});
