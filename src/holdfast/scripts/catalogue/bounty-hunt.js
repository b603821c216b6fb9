export const meta = {
  name: 'bounty-hunt',
  description: 'Hunters look for bugs as long as the budget lasts; each bug must be shown by a test in a worktree',
  whenToUse: 'There is a budget to spend on finding real bugs, and a claim without a proof is worth nothing',
  phases: [
    { title: 'Map', detail: 'Which parts are worth a hunt' },
    { title: 'Hunt', detail: 'One hunter per part, until the budget is nearly spent' },
    { title: 'Prove', detail: 'A failing test, written apart from the hunters’ eyes' },
  ],
  budget: 400_000,
  args: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Where to hunt (the whole workspace)' },
      hunters: { type: 'integer', minimum: 1, maximum: 16, description: 'How many at once (4)' },
    },
    additionalProperties: false,
  },
}

const path = args?.path ?? 'the whole workspace'
const hunters = args?.hunters ?? 4
// What is kept back, so that what was found can still be proved.
const reserve = budget.total === null ? 0 : budget.total * 0.3

const PARTS = {
  type: 'object',
  properties: { parts: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 40 } },
  required: ['parts'],
}
const BUGS = {
  type: 'object',
  properties: {
    bugs: {
      type: 'array',
      items: {
        type: 'object',
        properties: { title: { type: 'string' }, file: { type: 'string' }, how: { type: 'string' } },
        required: ['title', 'file', 'how'],
      },
    },
  },
  required: ['bugs'],
}
const PROOF = {
  type: 'object',
  properties: { proved: { type: 'boolean' }, test: { type: 'string' }, output: { type: 'string' } },
  required: ['proved'],
}

phase('Map')
const map = await agent(
  `Name the parts of ${path} (files or directories) where bugs are likely and would matter, most promising first.`,
  { label: 'map', schema: PARTS },
)
if (!map) throw new Error('there is no map of what to hunt in')

phase('Hunt')
const waiting = [...map.parts]
const bugs = []
// What was found counts, whatever happens to the others: a budget that ends is no reason to lose it.
let stopped = null
const hunt = async () => {
  while (waiting.length > 0 && stopped === null && budget.remaining() > reserve) {
    const part = waiting.shift()
    try {
      const answer = await agent(
        `Hunt for bugs in ${part}. A bug is something you could show with a failing test. At most 3; none is fine.`,
        { label: part, schema: BUGS },
      )
      bugs.push(...(answer?.bugs ?? []))
    } catch (error) {
      log(`${part}: ${error.message}`)
      if (budget.total !== null && budget.remaining() <= 0) stopped = 'the budget is spent'
    }
  }
}
await parallel(Array.from({ length: Math.min(hunters, waiting.length) }, () => hunt))
log(`${bugs.length} claims, ${waiting.length} parts not looked at`)

phase('Prove')
const unproved = []
const proofs = await pipeline(bugs, async (bug) => {
  const give = (why) => {
    unproved.push({ title: bug.title, file: bug.file, why })
    return null
  }
  if (stopped !== null || (budget.total !== null && budget.remaining() <= 0)) return give('the budget is spent')
  try {
    const proof = await agent(
      `Write the smallest test that fails because of this bug and run it. If it passes, the bug is not there: say so.\n\n` +
        `${bug.title}\nIn: ${bug.file}\nHow: ${bug.how}`,
      { label: bug.title.slice(0, 60), schema: PROOF, isolation: 'worktree' },
    )
    if (!proof) return give('the agent that should prove it failed')
    if (!proof.proved) return give('its test passes')
    return { ...bug, test: proof.test ?? null, output: proof.output ?? null }
  } catch (error) {
    // Outside of a git repository there is no worktree, so nothing can be proved there.
    return give(error.message)
  }
})

const proved = proofs.filter(Boolean)
const reasons = [...new Set(unproved.map((bug) => bug.why))]
const why =
  proved.length > 0
    ? null
    : bugs.length === 0
      ? stopped ?? 'no hunter claimed a bug'
      : `none of ${bugs.length} claims was proved: ${reasons.join('; ')}`
if (why !== null) log(`Nothing was found: ${why}`)
return { bugs: proved, claimed: bugs.length, unproved, why, parts_left: waiting }
