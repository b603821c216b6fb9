// What a first visit offers to try, as messages for the demo model. See docs/reference/demo-model.md.

import { ListTree, type LucideIcon, Workflow, Wrench } from "lucide-react";
import { texts } from "@/texts";

export interface Try {
  id: string;
  title: string;
  text: string;
  icon: LucideIcon;
  content: string;
}

const t = texts.home.tries;

const TOOL = `Write a small file, read it again and tell what is in it.

say: First I write the file.
call: write_file {"path": "notes.md", "content": "# Notes\\n\\n- durable\\n- replayable\\n- yours\\n"}
think: Now I look whether it is really there.
call: read_file {"path": "notes.md"}
say slowly: This is what the file says:

  {result}`;

const AGENT = `Let a sub-agent look around, and report what it says.

say: I start a sub-agent and wait for it.
call: spawn_agent {"label": "scout", "prompt": "pace: 0.15\\nsay slowly: I am the sub-agent. I have a chat of my own, which you find below this one in the list.\\ncall: list {\\"path\\": \\".\\"}\\nsay: Nothing here yet."}
call: wait_agents
say: The sub-agent is done. It said: {result}`;

const SCRIPT = `export const meta = {
  name: 'three-views',
  description: 'Asks three agents at once and counts their answers',
  phases: [{ title: 'Ask' }, { title: 'Conclude' }],
}
phase('Ask')
const views = await parallel(['first', 'second', 'third'].map(name =>
  () => agent('pace: 0.2\\nsay slowly: I am the ' + name + ' agent, and I have looked at it.', { label: name })))
phase('Conclude')
return views.length + ' agents have looked at it'`;

const WORKFLOW = `Let a script lead three agents, and tell what came of it.

say: I run the workflow, and wait for its result.
call: run_workflow ${JSON.stringify({ script: SCRIPT })}
say slowly: The workflow is over. Its result: {result}`;

export const TRIES: readonly Try[] = [
  { id: "tool", ...t.tool, icon: Wrench, content: TOOL },
  { id: "agent", ...t.agent, icon: ListTree, content: AGENT },
  { id: "workflow", ...t.workflow, icon: Workflow, content: WORKFLOW },
];
