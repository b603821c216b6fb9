// How each tool is shown: a sign for its line, and what is inside when it is opened. A tool that is not listed
// is shown with its input and output.

import {
  Bot,
  CircleStop,
  Eye,
  FileMinus,
  FilePen,
  FilePlus,
  Files,
  FileText,
  FolderOpen,
  FolderTree,
  Globe,
  Hourglass,
  KeyRound,
  ListTodo,
  ListTree,
  type LucideIcon,
  MessageCircleQuestion,
  MessageSquare,
  Paperclip,
  ScrollText,
  Search as SearchIcon,
  Shrink,
  Sparkles,
  SquareTerminal,
  Workflow as WorkflowIcon,
  Wrench,
} from "lucide-react";
import type { ComponentType } from "react";
import { AgentsTold, SpawnAgent } from "./bodies/Agents";
import type { BodyProps } from "./bodies/body";
import { Command, ProcessList } from "./bodies/Command";
import { ChangeFile, ReadFile } from "./bodies/Files";
import { Generic } from "./bodies/Generic";
import { Attached, Summary, Workflow } from "./bodies/Others";
import { Plan, Questions, Todo } from "./bodies/People";
import { Search } from "./bodies/Search";

export interface Renderer {
  icon: LucideIcon;
  Body: ComponentType<BodyProps>;
}

const RENDERERS: Record<string, Renderer> = {
  read_file: { icon: FileText, Body: ReadFile },
  write_file: { icon: FilePlus, Body: ChangeFile },
  edit_files: { icon: FilePen, Body: ChangeFile },
  delete_file: { icon: FileMinus, Body: ChangeFile },
  list: { icon: FolderOpen, Body: Search },
  glob: { icon: FolderTree, Body: Search },
  grep: { icon: SearchIcon, Body: Search },
  execute: { icon: SquareTerminal, Body: Command },
  process_output: { icon: SquareTerminal, Body: Command },
  process_list: { icon: SquareTerminal, Body: ProcessList },
  process_signal: { icon: SquareTerminal, Body: Generic },
  ask_user: { icon: MessageCircleQuestion, Body: Questions },
  propose_plan: { icon: ScrollText, Body: Plan },
  todo: { icon: ListTodo, Body: Todo },
  attach_file: { icon: Paperclip, Body: Attached },
  request_access: { icon: KeyRound, Body: Generic },
  read_skill: { icon: Sparkles, Body: Generic },
  web_fetch: { icon: Globe, Body: Generic },
  web_search: { icon: Globe, Body: Generic },
  spawn_agent: { icon: Bot, Body: SpawnAgent },
  spawn_subagent: { icon: Bot, Body: SpawnAgent },
  wait_agents: { icon: Hourglass, Body: AgentsTold },
  list_agents: { icon: ListTree, Body: AgentsTold },
  read_agent: { icon: Eye, Body: AgentsTold },
  message_agent: { icon: MessageSquare, Body: AgentsTold },
  stop_agent: { icon: CircleStop, Body: AgentsTold },
  subagent_status: { icon: Bot, Body: AgentsTold },
  subagent_result: { icon: Bot, Body: AgentsTold },
  run_workflow: { icon: WorkflowIcon, Body: Workflow },
  structured_output: { icon: Files, Body: Generic },
  chat_summarized: { icon: Shrink, Body: Summary },
};

const UNKNOWN: Renderer = { icon: Wrench, Body: Generic };

export function rendererOf(name: string): Renderer {
  return Object.hasOwn(RENDERERS, name) ? (RENDERERS[name] ?? UNKNOWN) : UNKNOWN;
}
