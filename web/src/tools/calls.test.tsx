// @vitest-environment happy-dom

import { act, fireEvent, screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ActionCall, Span, ToolResult } from "@/api/schema";
import { CHAT, drawn } from "@/testing/around";
import { chatWith, messageWith } from "@/testing/made";
import { CallLine } from "./CallLine";
import { rendererOf } from "./registry";

const call = (name: string, input: unknown = {}) => ({
  type: "tool_call" as const,
  call_id: "a",
  name,
  input,
  provider_executed: false,
});
const resultOf = (change: Partial<ToolResult> = {}): ToolResult => ({
  type: "tool_result",
  call_id: "a",
  name: "execute",
  output: "fine",
  outcome: "succeeded",
  diff: null,
  truncated: false,
  started_at: "2026-01-01T00:00:00Z",
  finished_at: "2026-01-01T00:00:02.5Z",
  ...change,
});
const spanOf = (change: Partial<Span> = {}): Span => ({
  id: "call-a",
  parent_id: null,
  chat_id: CHAT,
  message_id: null,
  turn: 1,
  kind: "tool_call",
  name: "execute",
  truncated: false,
  asked_at: null,
  cache: null,
  started_at: "2026-01-01T00:00:00Z",
  finished_at: null,
  duration_ms: null,
  estimated: false,
  usage: null,
  diff: null,
  outcome: null,
  failure: null,
  approved_by: null,
  ...change,
});
const asking = (kind: ActionCall["kind"], name: string, input: unknown) =>
  chatWith({
    status: "requires_action",
    action: { calls: [{ call_id: "a", kind, name, input, deadline_at: null, chat_id: CHAT }] },
  });
const results = (result: ToolResult) => new Map([["a", result]]);
const line = () => screen.getByTestId("call");
const open = () => act(async () => fireEvent.click(within(line()).getAllByRole("button")[0] as HTMLElement));

describe("every state of a call", () => {
  const running = { chat: chatWith({ status: "running" }) };
  it.each([
    [
      "writing",
      { type: "tool_call_delta" as const, call_id: "a", name: "execute", text: '{"command": "ls"' },
      running,
      "preparing",
    ],
    ["pending", call("execute"), running, "waiting"],
    ["running", call("execute"), { ...running, spans: new Map([["call-a", spanOf()]]) }, "running"],
    ["asking", call("execute"), { chat: asking("approval", "execute", {}) }, "needs you"],
    ["succeeded", call("execute"), { ...running, results: results(resultOf()) }, "done"],
    ["failed", call("execute"), { ...running, results: results(resultOf({ outcome: "failed" })) }, "failed"],
    ["denied", call("execute"), { ...running, results: results(resultOf({ outcome: "denied" })) }, "denied"],
    [
      "cancelled",
      call("execute"),
      { ...running, results: results(resultOf({ outcome: "cancelled" })) },
      "cancelled",
    ],
    [
      "expired",
      call("execute"),
      { ...running, results: results(resultOf({ outcome: "expired" })) },
      "timed out waiting for you",
    ],
    [
      "uncertain",
      call("execute"),
      { ...running, results: results(resultOf({ outcome: "uncertain" })) },
      "outcome unknown",
    ],
  ])("%s", async (state, part, chat, word) => {
    await drawn(<CallLine chatId={CHAT} call={part} />, chat);
    expect(line().dataset.state).toBe(state);
    expect(line().textContent).toContain(word);
  });

  it("is over as soon as its span is, before the results of its step are committed", async () => {
    const span = spanOf({ outcome: "succeeded", finished_at: "2026-01-01T00:00:01Z", output: "early" });
    await drawn(<CallLine chatId={CHAT} call={call("execute")} />, {
      chat: chatWith({ status: "running" }),
      spans: new Map([["call-a", span]]),
    });
    expect(line().dataset.state).toBe("succeeded");
    expect(line().textContent).toContain("1.0 s");
  });

  it("says the exit code of a command that failed, and how long it took", async () => {
    const result = resultOf({ outcome: "failed", output: { exit_code: 2, output: "no", status: "exited" } });
    await drawn(<CallLine chatId={CHAT} call={call("execute", { command: "make" })} />, {
      results: results(result),
    });
    expect(line().textContent).toContain("exit 2");
    expect(line().textContent).toContain("2.5 s");
    expect(line().textContent).toContain("make");
  });
});

describe("opened, a call shows", () => {
  const inside = async (name: string, input: unknown, result: Partial<ToolResult>) => {
    await drawn(<CallLine chatId={CHAT} call={call(name, input)} />, {
      results: results(resultOf({ name, ...result })),
    });
    // What somebody answered is open by itself.
    if (name !== "ask_user") await open();
    return line();
  };

  it("a diff with its lines", async () => {
    const diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
    const shown = await inside("edit_files", { edits: [] }, { diff });
    expect(shown.textContent).toContain("-old");
    expect(shown.textContent).toContain("+new");
  });
  it("what a command printed", async () => {
    const output = { output: "\u001b[31mred\u001b[0m", exit_code: 0, status: "exited", process_id: "p-1" };
    const shown = await inside("execute", { command: "ls" }, { output });
    expect(shown.textContent).toContain("$ ls");
    expect(shown.querySelector(".text-bad")?.textContent).toBe("red");
  });
  it("paths as links", async () => {
    await inside("grep", { pattern: "x" }, { output: "src/a.py:12:x = 1\n[more]" });
    expect(screen.getByRole("button", { name: "src/a.py:12" })).toBeTruthy();
  });
  it("the answers to questions", async () => {
    const input = { questions: [{ id: "l", text: "Which?" }] };
    const shown = await inside("ask_user", input, { output: { answers: { l: "MIT" } } });
    expect(shown.textContent).toContain("MIT");
  });
  it("a plan and what was said of it", async () => {
    const shown = await inside(
      "propose_plan",
      { plan: "# Do it" },
      { output: { approved: false, note: "no" } },
    );
    expect(shown.querySelector("h2")?.textContent).toBe("Do it");
    expect(shown.textContent).toContain("Changes requested: no");
  });
  it("sub-agents with the way to them", async () => {
    const id = "0199c000-0000-7000-8000-000000000001";
    const output = [{ agent_id: id, label: "scout", status: "done", result: "I saw **it**." }];
    const shown = await inside("wait_agents", {}, { output });
    expect(shown.querySelector("a")?.getAttribute("href")).toBe(`/chats/${id}`);
    expect(shown.querySelector("strong")?.textContent).toBe("it");
  });
  it("a summary", async () => {
    const output = { summary: "They talked.", usage_percent: 80, context_tokens: 9000 };
    const shown = await inside("chat_summarized", { source: "manual" }, { output });
    expect(shown.textContent).toContain("They talked.");
    expect(shown.textContent).toContain("80 %");
  });
  it("input and output of a tool that outcome unknown, whatever they are", async () => {
    const shown = await inside("toString", { a: "<img src=x onerror=alert(1)>", b: [1] }, { output: null });
    expect(shown.querySelector("img")).toBeNull();
    expect(shown.textContent).toContain("<img src=x onerror=alert(1)>");
    expect(rendererOf("toString")).toBe(rendererOf("no such tool"));
  });
  it("everything it said, where the model was given less", async () => {
    const around = await drawn(
      <CallLine chatId={CHAT} call={call("web_fetch", { url: "https://a.test" })} />,
      { results: results(resultOf({ output: "short", truncated: true })) },
      {
        [`GET /chats/${CHAT}/calls/a`]: {
          call_id: "a",
          name: "web_fetch",
          output: "all of it",
          truncated: false,
        },
      },
    );
    await open();
    await act(async () => fireEvent.click(screen.getByRole("button", { name: "Show the whole output" })));
    expect(line().textContent).toContain("all of it");
    expect(around.asked.some(one => one.path === `/chats/${CHAT}/calls/a`)).toBe(true);
  });
  it.each([
    ["edit_files", { edits: [null, 3] }],
    ["ask_user", { questions: "?" }],
    ["todo", { items: [1] }],
    ["spawn_agent", null],
    ["read_file", [1]],
    ["propose_plan", { plan: 3 }],
    ["chat_summarized", "x"],
    ["attach_file", {}],
  ])("%s with an input that makes no sense", async (name, input) => {
    const shown = await inside(name, input, { output: { odd: [] }, outcome: "failed" });
    expect(shown.querySelector('[role="alert"]')).toBeNull();
  });
});

describe("asking a person", () => {
  const ask = async (kind: ActionCall["kind"], name: string, input: unknown) => {
    const chat = asking(kind, name, input);
    return drawn(<CallLine chatId={CHAT} call={call(name, input)} />, { chat });
  };
  const press = (name: string | RegExp) =>
    act(async () => fireEvent.click(screen.getByRole("button", { name })));
  const decision = (around: Awaited<ReturnType<typeof ask>>) =>
    around.asked.find(one => one.path === `/chats/${CHAT}/calls/a/decision`)?.body;

  it("shows exactly what will run", async () => {
    const command = `echo harmless${"\n".repeat(120)}rm -rf /`;
    const around = await ask("approval", "execute", { command, timeout_seconds: 5, cwd: "src" });
    expect(screen.getByTestId("ask").textContent).toContain("Directorysrc");
    expect(screen.getByTestId("ask").textContent).toContain("Timeout5 s");
    // What is folded cannot be allowed unseen.
    await press(/^Allow once/);
    expect(decision(around)).toBeUndefined();
    await press("Show 97 more lines");
    expect(screen.getByTestId("ask").textContent).toContain(command);
    await press(/^Allow once/);
    expect(decision(around)).toEqual({ decision: "approve", scope: "once" });
  });
  it.each([
    [/^Allow once/, { decision: "approve", scope: "once" }],
    [/^Allow for this chat/, { decision: "approve", scope: "chat" }],
    ["Always allow (rule)", { decision: "approve", scope: "always" }],
  ])("%s", async (button, body) => {
    const around = await ask("approval", "execute", { command: "ls" });
    await press(button);
    expect(decision(around)).toEqual(body);
  });
  it("no, because", async () => {
    const around = await ask("approval", "execute", { command: "ls" });
    await press(/^Deny…/);
    fireEvent.change(screen.getByLabelText(/^Reason/), { target: { value: "not here" } });
    await press("Deny");
    expect(decision(around)).toEqual({ decision: "deny", note: "not here" });
  });
  it.each([
    ["Run again", "retry"],
    ["It finished", "done"],
    ["Skip", "skip"],
  ])("of a call whose outcome is unknown: %s", async (button, verdict) => {
    const around = await ask("uncertain", "execute", { command: "deploy" });
    await press(button);
    expect(decision(around)).toEqual({ decision: verdict });
  });
  it("also when the model was told already, until it was said", async () => {
    const around = await drawn(<CallLine chatId={CHAT} call={call("execute")} />, {
      chat: chatWith(),
      results: results(resultOf({ outcome: "uncertain" })),
    });
    expect(screen.getByRole("button", { name: "It finished" })).toBeTruthy();
    const notice = { type: "notice" as const, code: "uncertain_call", text: "done", data: { call_id: "a" } };
    await around.tell({ messages: [messageWith({ role: "system", parts: [notice] })] });
    expect(screen.queryByRole("button", { name: "It finished" })).toBeNull();
  });
  it("questions, by a form that is sent when it is complete", async () => {
    const input = {
      questions: [
        { id: "l", text: "Which?", options: ["MIT", "BSD"] },
        { id: "w", text: "Why?" },
      ],
    };
    const around = await ask("question", "ask_user", input);
    const answer = screen.getByRole("button", { name: "Answer" }) as HTMLButtonElement;
    expect(answer.disabled).toBe(true);
    await act(async () => fireEvent.click(screen.getByLabelText("MIT")));
    fireEvent.change(screen.getByLabelText("Your answer"), { target: { value: "because" } });
    expect(answer.disabled).toBe(false);
    await act(async () => fireEvent.submit(answer.closest("form") as HTMLFormElement));
    expect(around.asked.at(-1)).toMatchObject({
      path: `/chats/${CHAT}/tool-results`,
      body: { results: [{ call_id: "a", output: { answers: { l: "MIT", w: "because" } } }] },
    });
  });
  it("a plan, accepted or sent back", async () => {
    const around = await ask("plan", "propose_plan", { plan: "1. do" });
    await press("Accept plan");
    expect(around.asked.at(-1)?.body).toMatchObject({ results: [{ output: { approved: true } }] });
  });
  it("a call for a program is not asked of a person", async () => {
    await ask("client_tool", "open_editor", {});
    expect(screen.getByTestId("ask").querySelector("button")).toBeNull();
  });
});
