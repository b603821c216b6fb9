// Hunts in rounds until two rounds find nothing new, or until the budget is nearly spent.
export const meta = {
  name: 'bug-hunt',
  description: 'Loop until dry: finders in parallel, duplicates removed, each new bug reproduced',
  phases: [{ title: 'Find' }, { title: 'Dedupe' }, { title: 'Reproduce' }],
}

const FINDERS = [
  'concurrency: races, missing locks, lost updates',
  'boundaries: empty input, huge input, unicode, time zones',
  'failure paths: what happens when a call throws half way',
]
const BUGS = {
  type: 'object',
  required: ['bugs'],
  properties: {
    bugs: {
      type: 'array',
      items: {
        type: 'object',
        required: ['file', 'line', 'what'],
        properties: { file: { type: 'string' }, line: { type: 'integer', minimum: 1 }, what: { type: 'string' } },
      },
    },
  },
}
const REPRO = {
  type: 'object',
  required: ['reproduced', 'how'],
  properties: { reproduced: { type: 'boolean' }, how: { type: 'string' } },
}
const MAX_ROUNDS = args?.rounds ?? 4
const RESERVE = 40

const key = bug => `${bug.file}:${bug.line}`.toLowerCase()
const enough = () => budget.total !== null && budget.remaining() < RESERVE

const seen = new Map()
let dry = 0
let round = 0
while (dry < 2 && round < MAX_ROUNDS) {
  round += 1
  if (enough()) {
    log(`stopping before round ${round}: ${budget.remaining()} tokens left`)
    break
  }
  phase('Find')
  const lists = await parallel(FINDERS.map((what, i) => () =>
    agent(`Round ${Math.min(round, 2)}. Look for ${what}.\nKnown already:\n${[...seen.keys()].join('\n') || '(none)'}`, {
      label: `find ${i + 1}`,
      schema: BUGS,
    })))
  phase('Dedupe')
  const fresh = lists.filter(Boolean).flatMap(list => list.bugs).filter(bug => !seen.has(key(bug)))
  for (const bug of fresh) seen.set(key(bug), { ...bug, round })
  log(`round ${round}: ${fresh.length} new`)
  dry = fresh.length === 0 ? dry + 1 : 0
}

phase('Reproduce')
const bugs = [...seen.values()]
const proofs = await pipeline(
  bugs.slice(0, 6),
  bug => agent(`Write a failing test for ${bug.file}:${bug.line}: ${bug.what}`, { label: key(bug), schema: REPRO }),
  (proof, bug) => proof.reproduced ? { ...bug, how: proof.how } : null,
)
return { rounds: round, found: bugs.length, proved: proofs.filter(Boolean), dry }
