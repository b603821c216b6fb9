# ruff: noqa: E501 - a script is easier to compare as it would be written
"""Scripts in the manner of Claude Code's workflows run unchanged: its words, its options, its idioms."""

from holdfast.core.shapes import Json
from holdfast.scripts.engines.messages import AgentCall, Call, CallError
from tests.scripts.host import echo, run_script

REVIEW = """\
// Review a change along several dimensions, then try to refute every finding.
export const meta = {
  name: 'review-changes',
  description: 'Review changed files across dimensions, verify each finding',
  whenToUse: 'Before a merge',
  phases: [
    { title: 'Review', detail: 'one agent a dimension' },
    { title: 'Verify', detail: 'adversarial', model: 'haiku' },
  ],
}

const FINDINGS = {
  type: 'object',
  properties: { findings: { type: 'array', items: { type: 'object', properties: { title: { type: 'string' } } } } },
  required: ['findings'],
}
const VERDICT = { type: 'object', properties: { isReal: { type: 'boolean' } }, required: ['isReal'] }
const DIMENSIONS = [
  { key: 'bugs', prompt: `Find bugs in ${args?.files?.join(', ') ?? 'the diff'}` },
  { key: 'perf', prompt: 'Find slow code' },
]

phase('Review')
const results = await pipeline(
  DIMENSIONS,
  d => agent(d.prompt, { label: `review:${d.key}`, phase: 'Review', schema: FINDINGS, agentType: 'Explore' }),
  (review, dimension, index) => parallel(review.findings.map(f => () =>
    agent(`Adversarially verify: ${f.title}`, { label: `verify:${dimension.key}`, phase: 'Verify', schema: VERDICT })
      .then(verdict => ({ ...f, from: index, verdict }))
  ))
)
const confirmed = results.flat().filter(Boolean).filter(f => f.verdict?.isReal)
log(`${confirmed.length} confirmed`)
return { confirmed, counts: Object.fromEntries(DIMENSIONS.map((d, i) => [d.key, results[i]?.length ?? 0])) }
"""
HUNT = """\
export const meta = { name: 'hunt', description: 'Loop until dry, within the budget', phases: [{ title: 'Find' }] }
const bugs = []
const seen = new Set()
let dry = 0
while (dry < 2 && (!budget.total || budget.remaining() > 20)) {
  const found = (await parallel([0, 1].map(i => () => agent(`look ${i} round ${dry}`, { phase: 'Find' }))))
    .filter(Boolean)
  const fresh = found.filter(b => !seen.has(b))
  if (!fresh.length) { dry++; continue }
  dry = 0
  fresh.forEach(b => seen.add(b))
  bugs.push(...fresh)
}
const [a, b] = await Promise.all([agent('one', { isolation: 'worktree', effort: 'high' }), workflow('sub', { bugs })])
try {
  await agent('judge', { model: 'opus' })
} catch (e) {
  console.error('no judge', e.message)
}
const votes = await Promise.all(Array.from({ length: 3 }, (_, i) => agent(`vote ${i}`)))
return { bugs: [...seen].sort(), a, b, votes: votes.length, spent: budget.spent() > 0, total: budget.total }
"""


def reviewing(call: Call) -> Json | CallError:
    match call:
        case AgentCall(prompt=prompt) if prompt.startswith("Find"):
            return {"findings": [{"title": f"{prompt} 1"}, {"title": f"{prompt} 2"}]}
        case AgentCall(prompt=prompt):
            return {"isReal": prompt.endswith("1")}
        case _:
            return echo(call)


def hunting(call: Call) -> Json | CallError:
    match call:
        case AgentCall(prompt="judge"):
            return CallError(kind="failed", message="broken")
        case AgentCall(prompt=prompt) if prompt.startswith("look"):
            return prompt.split(" round")[0]
        case _:
            return echo(call)


async def test_a_review_in_stages() -> None:
    ran = await run_script(
        "javascript", REVIEW, meta=False, args={"files": ["a.ts", "b.ts"]}, answers=reviewing
    )
    assert ran.value == {
        "confirmed": [
            {"title": "Find bugs in a.ts, b.ts 1", "from": 0, "verdict": {"isReal": True}},
            {"title": "Find slow code 1", "from": 1, "verdict": {"isReal": True}},
        ],
        "counts": {"bugs": 2, "perf": 2},
    }
    assert ran.warnings == []
    assert [agent.options.phase for agent in ran.agents] == ["Review"] * 2 + ["Verify"] * 4
    assert ran.agents[0].options.agent == "Explore"


async def test_a_hunt_until_nothing_new_is_found() -> None:
    ran = await run_script("javascript", HUNT, meta=False, answers=hunting)
    assert [call.name for call in ran.workflows] == ["sub"]
    assert ran.value == {
        "bugs": ["look 0", "look 1"],
        "a": "<one>",
        "b": {"ran": "sub", "args": {"bugs": ["look 0", "look 1"]}},
        "votes": 3,
        "spent": True,
        "total": None,
    }
    assert ran.warnings == []
    assert any("no judge" in line for line in ran.log)


async def test_arguments_may_be_missing_or_text() -> None:
    source = REVIEW.splitlines()[1:]
    asked = "\n".join(source[: source.index("}") + 1]) + "\nreturn [typeof args, args?.length ?? null]"
    assert (await run_script("javascript", asked, meta=False)).value == ["undefined", None]
    assert (await run_script("javascript", asked, meta=False, args="[1]")).value == ["string", 3]
