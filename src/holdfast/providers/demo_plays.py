"""Plain sentences that the demo model knows, and the script that it plays for each: suggestions for a first
visit. Agents that a play starts are asked in plain sentences too."""

import json
import re

# The ones to offer, as a person would write them.
OFFERED = ("Show me a tool call", "Start two sub-agents", "Run a workflow")

_NOTES = {"path": "notes.md", "content": "# Notes\n\n- durable\n- replayable\n- yours\n"}
_SCRIPT = """\
export const meta = {
  name: 'three-views',
  description: 'Asks three agents at once and counts their answers',
  phases: [{ title: 'Ask' }, { title: 'Conclude' }],
}
phase('Ask')
const views = await parallel(['user', 'developer', 'operator'].map(name =>
  () => agent('Give your view as a ' + name + '.', { label: name })))
phase('Conclude')
return views.length + ' agents gave their view'"""


def _call(name: str, **given: str) -> str:
    return f"{name} {json.dumps(given)}"


_TOOL_CALL = f"""\
say: I'll write a small file first. Each call shows up here with its input and output.
call: {_call("write_file", **_NOTES)}
think: The file should be there now. I'll read it back to be sure.
call: {_call("read_file", path="notes.md")}
pace: 0.04
say slowly: The file is there: a heading and a list of three words. Open a call to see its input and output.

  If the server had been killed between the two calls, it would have continued with the second one."""

_TWO_AGENTS = f"""\
say: I'll start two sub-agents. They work at the same time, each in its own chat.
calls: {_call("spawn_agent", label="scout", prompt="Look around in the working directory.")}; \
{_call("spawn_agent", label="thinker", prompt="Think of three uses for a durable agent.")}
say: Both are working. I'll wait for them.
call: wait_agents
pace: 0.04
say slowly: Both are done. The scout looked around, and the thinker had three ideas.

  Their chats are below this one in the list. What they use counts towards this chat."""

_WORKFLOW = f"""\
say: I'll run a workflow: a script that asks three agents at once and combines their answers.
call: {_call("run_workflow", script=_SCRIPT)}
pace: 0.04
say slowly: The workflow is done: three agents gave their view, and the script counted them.

  The panel next to the chat shows its phases, its agents and what each of them said."""

_LOOK_AROUND = f"""\
say: Let me look around.
call: {_call("list", path=".")}
pace: 0.05
say slowly: I looked at the working directory. There isn't much in it yet."""

_THREE_USES = """\
pace: 0.05
say slowly: Three come to mind: a migration that takes all night, a review that waits for a person until \
Monday, and a report that is written while the laptop is closed."""

_VIEW = """\
pace: 0.05
say slowly: As a {who} I like that nothing is lost when something stops, and that I can see afterwards \
what happened."""

_PLAYS = {
    "show me a tool call": _TOOL_CALL,
    "start two sub-agents": _TWO_AGENTS,
    "start two subagents": _TWO_AGENTS,
    "run a workflow": _WORKFLOW,
    "look around in the working directory": _LOOK_AROUND,
    "think of three uses for a durable agent": _THREE_USES,
}
_ASKED_FOR_VIEW = re.compile(r"give your view as an? ([a-z]{1,30})")


def play_of(said: str) -> str | None:
    """The script for a sentence that is known; None for everything else."""
    sentence = " ".join(said.lower().split()).rstrip(".!")
    sentence = sentence.removeprefix("please ").removesuffix(", please")
    if found := _ASKED_FOR_VIEW.fullmatch(sentence):
        return _VIEW.format(who=found[1])
    return _PLAYS.get(sentence)
