// Upgrades dependencies one by one, in the order of their risk, with a way back.
export const meta = {
  name: 'dependency-upgrade',
  description: 'Read changelogs, order by risk, upgrade one at a time, stop at the first that cannot be repaired',
  phases: [{ title: 'Look' }, { title: 'Upgrade' }, { title: 'Repair' }],
}

const RISKS = Object.freeze({ patch: 0, minor: 1, major: 2 })
const NOTES = {
  type: 'object',
  required: ['breaking', 'kind'],
  properties: {
    kind: { enum: ['minor', 'patch', 'major'] },
    breaking: { type: 'array', items: { type: 'string' } },
  },
}
const RESULT = {
  type: 'object',
  required: ['tests', 'log'],
  properties: { tests: { enum: ['pass', 'fail'] }, log: { type: 'string' } },
}
const wanted = args?.packages ?? ['left-pad', 'chalk', 'express']

phase('Look')
const known = await pipeline(
  wanted,
  name => agent(`What changed in ${name} since the version we have? Only what can break us.`, {
    label: `changes of ${name}`, schema: NOTES, tools: ['web_fetch', 'web_search', 'read_file'],
  }),
  (notes, name) => ({ name, ...notes, risk: RISKS[notes.kind] + notes.breaking.length / 10 }),
)
const order = known.filter(Boolean).sort((a, b) => a.risk - b.risk || (a.name < b.name ? -1 : 1))
log(order.map(o => `${o.name} (${o.kind}, ${o.breaking.length} breaking)`).join(' -> '))

const history = []
let stopped = null
for (const [index, dependency] of order.entries()) {
  phase('Upgrade')
  const prompt = [
    `Upgrade ${dependency.name} and nothing else. Run the tests.`,
    dependency.breaking.length ? `Known to break:\n${dependency.breaking.map(b => `- ${b}`).join('\n')}` : '',
  ].filter(Boolean).join('\n\n')
  let result = await agent(prompt, { label: dependency.name, schema: RESULT, isolation: 'worktree' })
  let tries = 0
  while (result?.tests === 'fail' && tries < 2) {
    tries++
    phase('Repair')
    result = await agent(`The tests fail after the upgrade of ${dependency.name}:\n${result.log}\nRepair our code.`, {
      label: `repair ${dependency.name} #${tries}`, schema: RESULT, isolation: 'worktree',
    })
  }
  history.push({ name: dependency.name, place: index + 1, tests: result?.tests ?? 'unknown', tries })
  if (result?.tests !== 'pass') {
    stopped = dependency.name
    break
  }
}
const left = order.slice(history.length).map(o => o.name)
return { upgraded: history.filter(h => h.tests === 'pass').map(h => h.name), stopped, left, history }
