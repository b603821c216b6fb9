import { describe, expect, it } from "vitest";
import { visibleRequest } from "@/text/visible";
import { runsOf } from "./ansi";
import { answerOf, chosen, NOTHING, questionsIn } from "./asks/questions";
import { chatIn } from "./bodies/Agents";
import { approvalText } from "./Details";
import { partial } from "./input";
import { titleOf } from "./titles";

describe("a call in one line", () => {
  it.each([
    ["read_file", { path: "src/a.py", start_line: 3, end_line: 9 }, "Read src/a.py:3-9"],
    ["write_file", { path: "a.md", content: "x" }, "Write a.md"],
    ["edit_files", { edits: [{ path: "a" }, { path: "b" }, { path: "a" }] }, "Edit a and 1 more"],
    ["list", {}, "List ."],
    ["grep", { pattern: "def", path: "src", glob: "*.py" }, "Search def in src (*.py)"],
    ["execute", { command: "make\n  test" }, "Run make test"],
    ["execute", { command: "serve", background: true }, "Start serve"],
    [
      "todo",
      {
        items: [
          { text: "a", status: "completed" },
          { text: "b", status: "in_progress" },
        ],
      },
      "Steps 1 of 2 done · b",
    ],
    ["ask_user", { questions: [{ text: "Which?" }, { text: "Why?" }] }, "Ask Which? / Why?"],
    ["spawn_agent", { prompt: "Look.", label: "scout" }, "Start sub-agent scout"],
    ["wait_agents", {}, "Wait for all sub-agents"],
    ["mcp_thing", { count: 1, query: "hello" }, "mcp_thing hello"],
    ["mcp_thing", { count: 1 }, 'mcp_thing { "count": 1 }'],
    ["execute", "not an object", "Run "],
    ["edit_files", { edits: "no list" }, "Edit "],
  ])("%s %j", (name, input, line) => {
    const { what, on } = titleOf(name, input);
    expect(`${what} ${on}`).toBe(line);
  });

  it("says what it can of an input that is still being written", () => {
    expect(partial('{"path": "src/a.py", "content": "# no')).toEqual({ path: "src/a.py" });
    expect(partial('{"path": "a\\"b"}')).toEqual({ path: 'a"b' });
  });
});

describe("what a command printed", () => {
  it("has colours, and nothing that moves the cursor", () => {
    expect(runsOf("\u001b[1;32mok\u001b[0m \u001b[2Jplain\u001b]0;title\u0007")).toEqual([
      { text: "ok", colour: "green", bold: true },
      { text: " plain", colour: null, bold: false },
    ]);
    expect(runsOf("\u001b[38;5;196mx")).toEqual([{ text: "x", colour: null, bold: false }]);
  });
  it("ends as a terminal would leave it", () => {
    expect(runsOf("10%\r50%\r100%\r\ndone")[0]?.text).toBe("100%\ndone");
  });
});

describe("questions", () => {
  const [one, many] = questionsIn({
    questions: [
      { id: "a", text: "Which?", options: ["x", "y"] },
      { id: "b", text: "All?", options: ["x", "y"], multiple: true },
    ],
  });
  it("are answered by one choice, or by something else", () => {
    if (one === undefined) throw new Error("no question");
    expect(answerOf(one, NOTHING)).toBeNull();
    const y = chosen(one, chosen(one, NOTHING, "x"), "y");
    expect(answerOf(one, y)).toBe("y");
    expect(answerOf(one, { chosen: [], text: " z " })).toBe("z");
  });
  it("are answered by several choices", () => {
    if (many === undefined) throw new Error("no question");
    const both = chosen(many, chosen(many, NOTHING, "x"), "y");
    expect(answerOf(many, { ...both, text: "z" })).toEqual(["x", "y", "z"]);
    expect(answerOf(many, chosen(many, both, "x"))).toEqual(["y"]);
  });
  it("that cannot be read are asked as they are", () => {
    expect(questionsIn({ nonsense: 1 })).toMatchObject([{ id: "answer", options: [] }]);
  });
});

it("what is approved is what was seen: signs that hide or turn text are spelled out", () => {
  expect(visibleRequest("rm \u202e-rf\u200b /\n")).toBe("rm ⟨U+202E⟩-rf⟨U+200B⟩ /\n");
});

it("who approved it stays known", () => {
  const approval = {
    by: "person" as const,
    decision: "approve" as const,
    user_id: "u1",
    rule: null,
    scope: "chat" as const,
    host: null,
    note: null,
    at: "2026-01-01T00:00:00Z",
  };
  expect(approvalText(approval, "succeeded", "u1")).toBe("Allowed for this chat by you");
  expect(approvalText({ ...approval, scope: "once", note: "too risky" }, "denied", "u2")).toBe(
    "Denied by someone else: too risky",
  );
  expect(approvalText({ ...approval, by: "rule", rule: "auto: workspace" }, "succeeded", "u1")).toBe(
    "Allowed automatically",
  );
  expect(approvalText({ ...approval, decision: "skip" }, "cancelled", "u1")).toMatch(
    /^Outcome unknown; skipped by you, /,
  );
});

it("only what is the id of a chat leads to one", () => {
  expect(chatIn({ agent_id: "0199c000-0000-7000-8000-000000000001" })).not.toBeNull();
  expect(chatIn({ agent_id: "../../settings" })).toBeNull();
});
