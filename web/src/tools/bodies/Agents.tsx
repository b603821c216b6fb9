// Sub-agents: what they were told, how far they are, and the way to their chats.

import { Link } from "@tanstack/react-router";
import { ArrowUpRight } from "lucide-react";
import { texts } from "@/texts";
import { Markdown } from "@/transcript/markdown/Markdown";
import { fieldsOf, listIn, readable, textIn } from "../input";
import { Box } from "../Output";
import { isOver } from "../state";
import type { BodyProps } from "./body";
import { Generic } from "./Generic";

const t = texts.tools;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The chat that an input or an answer names. */
export function chatIn(value: unknown): string | null {
  for (const name of ["chat_id", "agent_id", "task_id"]) {
    const id = textIn(value, name);
    if (UUID.test(id)) return id;
  }
  return null;
}

export function ChatLink({ chatId, children }: { chatId: string; children: string }) {
  return (
    <Link
      to="/chats/$chatId"
      params={{ chatId }}
      className="inline-flex shrink-0 items-center gap-0.5 text-accent-text text-sm underline-offset-2 hover:underline"
    >
      {children}
      <ArrowUpRight aria-hidden className="size-3.5" />
    </Link>
  );
}

export function SpawnAgent({ view }: BodyProps) {
  const child = chatIn(view.output);
  const task = textIn(view.input, "prompt") || textIn(view.input, "input");
  return (
    <div className="flex flex-col items-start gap-2">
      <Box text={task} className="w-full" />
      {child === null && isOver(view.state) && <p className="text-soft text-xs">{readable(view.output)}</p>}
    </div>
  );
}

/** An answer about one sub-agent or several. */
export function AgentsTold({ chatId, view }: BodyProps) {
  const told = agentsIn(view.output);
  const meant = chatIn(view.input);
  if (told.length === 0) {
    return (
      <div className="flex flex-col items-start gap-2">
        {meant !== null && <ChatLink chatId={meant}>{t.openAgent}</ChatLink>}
        <div className="w-full">
          <Generic chatId={chatId} view={view} />
        </div>
      </div>
    );
  }
  return (
    <ul className="flex flex-col gap-2">
      {told.map((agent, index) => (
        <Told key={chatIn(agent) ?? String(index)} agent={agent} />
      ))}
    </ul>
  );
}

function Told({ agent }: { agent: unknown }) {
  const id = chatIn(agent);
  const said = textIn(agent, "result") || textIn(agent, "said") || textIn(agent, "output");
  const label = textIn(agent, "label") || t.agent;
  return (
    <li className="rounded-md border bg-canvas px-3 py-2">
      <p className="flex items-center gap-2">
        {id === null ? <span className="text-sm">{label}</span> : <ChatLink chatId={id}>{label}</ChatLink>}
        <span className="text-faint text-xs">{textIn(agent, "status").replaceAll("_", " ")}</span>
      </p>
      {textIn(agent, "error") && <p className="text-bad text-xs">{textIn(agent, "error")}</p>}
      {said && (
        <div className="mt-1 text-sm">
          <Markdown text={said} />
        </div>
      )}
    </li>
  );
}

function agentsIn(output: unknown): readonly unknown[] {
  if (Array.isArray(output)) return output.filter(one => chatIn(one) !== null);
  const inside = fieldsOf(output);
  if (chatIn(inside.agent) !== null) return [inside.agent];
  const listed = listIn(inside, "agents");
  if (listed.length > 0) return listed;
  return chatIn(output) !== null ? [output] : [];
}
