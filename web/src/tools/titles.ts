// A call in one line: what it does, and on what. Pure.

import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { commandIn, fieldsOf, listIn, readable, textIn, textsIn } from "./input";

export interface Title {
  what: string;
  on: string;
  /** `on` is written in code: a path, a command, a pattern. */
  code: boolean;
}

const t = texts.tools.does;

export function titleOf(name: string, input: unknown): Title {
  const outside = outsideName(name);
  if (outside)
    return { what: visible(t.outside(outside.server, outside.tool)), on: firstText(input), code: true };
  const make = TITLES[name];
  if (make === undefined) return { what: visible(name), on: firstText(input), code: true };
  const [what, on, code = true] = make(input);
  return { what, on: oneLine(on), code };
}

/** The server and the tool that the name of an MCP tool is made of. */
export function outsideName(name: string): { server: string; tool: string } | null {
  const found = /^mcp__(.+?)__(.+)$/.exec(name);
  return found ? { server: found[1] ?? "", tool: found[2] ?? "" } : null;
}

type Make = (input: unknown) => [what: string, on: string, code?: boolean];

const path: (what: string) => Make = what => input => [what, textIn(input, "path") || "."];
const process: (what: string) => Make = what => input => [what, textIn(input, "process_id")];
const agent: (what: string) => Make = what => () => [what, "", false];

const TITLES: Record<string, Make> = {
  read_file: input => [t.read_file, textIn(input, "path") + range(input)],
  write_file: path(t.write_file),
  edit_files: input => [t.edit_files, edited(input)],
  delete_file: path(t.delete_file),
  list: path(t.list),
  glob: input => [t.glob, `${textIn(input, "pattern")}${inside(input)}`],
  grep: input => [t.grep, `${textIn(input, "pattern")}${inside(input)}`],
  execute: input => [
    input && fieldsOf(input).background === true ? t.execute_background : t.execute,
    commandIn(input),
  ],
  process_output: process(t.process_output),
  process_list: () => [t.process_list, ""],
  process_signal: input => [t.process_signal, `${textIn(input, "signal")} ${textIn(input, "process_id")}`],
  ask_user: input => [
    t.ask_user,
    listIn(input, "questions")
      .map(one => textIn(one, "text"))
      .join(" / "),
    false,
  ],
  propose_plan: input => [t.propose_plan, firstLine(textIn(input, "plan")), false],
  todo: input => [t.todo, todone(input), false],
  attach_file: path(t.attach_file),
  request_access: path(t.request_access),
  read_skill: input => [t.read_skill, textIn(input, "name"), false],
  web_fetch: input => [t.web_fetch, textIn(input, "url")],
  web_search: input => [t.web_search, textIn(input, "query"), false],
  spawn_agent: input => [t.spawn_agent, textIn(input, "label") || textIn(input, "prompt"), false],
  spawn_subagent: input => [t.spawn_agent, textIn(input, "label") || textIn(input, "input"), false],
  wait_agents: input => [t.wait_agents, t.agents(textsIn(input, "agent_ids").length), false],
  list_agents: agent(t.list_agents),
  read_agent: agent(t.read_agent),
  message_agent: input => [t.message_agent, textIn(input, "text"), false],
  stop_agent: agent(t.stop_agent),
  subagent_status: agent(t.subagent_status),
  subagent_result: agent(t.subagent_result),
  run_workflow: input => [t.run_workflow, textIn(input, "name") || t.script, false],
  structured_output: () => [t.structured_output, "", false],
  chat_summarized: () => [t.chat_summarized, "", false],
};

function range(input: unknown): string {
  const [from, to] = [textIn(input, "start_line"), textIn(input, "end_line")];
  return from || to ? `:${from || 1}-${to}` : "";
}

function inside(input: unknown): string {
  const [where, only] = [textIn(input, "path"), textIn(input, "glob")];
  return (where && where !== "." ? ` in ${where}` : "") + (only ? ` (${only})` : "");
}

function edited(input: unknown): string {
  const paths = [...new Set(listIn(input, "edits").map(edit => textIn(edit, "path")))];
  return paths.length > 1 ? `${paths[0]} ${t.andMore(paths.length - 1)}` : (paths[0] ?? "");
}

function todone(input: unknown): string {
  const items = listIn(input, "items");
  const done = items.filter(item => textIn(item, "status") === "completed").length;
  const current = items.find(item => textIn(item, "status") === "in_progress");
  return t.progress(done, items.length) + (current === undefined ? "" : ` · ${textIn(current, "text")}`);
}

function firstText(input: unknown): string {
  const found = Object.values(fieldsOf(input)).find(value => typeof value === "string" && value !== "");
  return oneLine(
    typeof found === "string" ? found : Object.keys(fieldsOf(input)).length > 0 ? readable(input) : "",
  );
}

const firstLine = (text: string): string =>
  text
    .trim()
    .split("\n", 1)[0]
    ?.replace(/^#+\s*/, "") ?? "";

function oneLine(text: string): string {
  return visible(text.slice(0, 300).replace(/\s+/g, " ").trim());
}
