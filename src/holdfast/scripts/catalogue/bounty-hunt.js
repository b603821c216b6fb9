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
const hunt = async () => {
  while (waiting.length > 0 && budget.remaining() > reserve) {
    const part = waiting.shift()
    const answer = await agent(
      `Hunt for bugs in ${part}. A bug is something you could show with a failing test. At most 3; none is fine.`,
      { label: part, schema: BUGS },
    )
    bugs.push(...(answer?.bugs ?? []))
  }
}
await parallel(Array.from({ length: Math.min(hunters, waiting.length) }, () => hunt))
log(`${bugs.length} claims, ${waiting.length} parts not looked at`)

phase('Prove')
const proofs = await pipeline(bugs, async (bug) => {
  if (budget.total !== null && budget.remaining() <= 0) return null
  const proof = await agent(
    `Write the smallest test that fails because of this bug and run it. If it passes, the bug is not there: say so.\n\n` +
      `${bug.title}\nIn: ${bug.file}\nHow: ${bug.how}`,
    { label: bug.title.slice(0, 60), schema: PROOF, isolation: 'worktree' },
  )
  return proof?.proved ? { ...bug, test: proof.test ?? null, output: proof.output ?? null } : null
})
return { bugs: proofs.filter(Boolean), claimed: bugs.length, parts_left: waiting }
