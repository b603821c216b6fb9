// Flaky tests: run again and again with pauses in between, sort by how often they fail, explain the worst.
export const meta = {
  name: 'flaky-tests',
  description: 'Run suspicious tests repeatedly, compute how flaky each is, find the reason of the worst',
  phases: [{ title: 'Run' }, { title: 'Explain' }, { title: 'Fix' }],
}
const tests = args?.tests ?? ['login', 'upload', 'search']
const times = Math.max(2, args?.times ?? 3)
const OUTCOME = {
  type: 'object',
  required: ['passed', 'seconds'],
  properties: { passed: { type: 'boolean' }, seconds: { type: 'number', minimum: 0.5 } },
}
const REASON = {
  type: 'object',
  required: ['reason', 'kind'],
  properties: { kind: { enum: ['timing', 'order', 'network', 'unknown'] }, reason: { type: 'string' } },
}
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
const mean = xs => xs.reduce((a, b) => a + b, 0) / (xs.length || 1)
const deviation = xs => Math.sqrt(mean(xs.map(x => (x - mean(xs)) ** 2)))

phase('Run')
const runs = new Map(tests.map(test => [test, []]))
for (let n = 1; n <= times; n++) {
  await Promise.all(tests.map(async test => {
    const outcome = await agent(`Run the test ${test} alone. Run number ${n}.`, { label: `${test} #${n}`, schema: OUTCOME })
    runs.get(test).push(outcome ?? { passed: false, seconds: 0 })
  }))
  if (n < times) await sleep(100 * n)
}

const statistics = tests.map(test => {
  const outcomes = runs.get(test)
  const failed = outcomes.filter(o => !o.passed).length
  const seconds = outcomes.map(o => o.seconds)
  return { test, rate: failed / outcomes.length, mean: +mean(seconds).toFixed(2), deviation: +deviation(seconds).toFixed(2) }
}).sort((a, b) => b.rate - a.rate || b.deviation - a.deviation || a.test.localeCompare(b.test))
for (const s of statistics) log(`${s.test}: fails ${(s.rate * 100).toFixed(0)} %, ${s.mean} s ± ${s.deviation}`)

phase('Explain')
const suspects = statistics.slice(0, 2)
const explained = await parallel(suspects.map(s => () =>
  agent(`Why is ${s.test} flaky? It takes ${s.mean} s ± ${s.deviation}.`, { label: s.test, schema: REASON })))

phase('Fix')
const fixes = {}
for (const [i, reason] of explained.entries()) {
  if (reason === null) continue
  switch (reason.kind) {
    case 'timing':
      fixes[suspects[i].test] = await agent(`Replace the sleep in ${suspects[i].test} by a condition: ${reason.reason}`)
      break
    case 'order':
    case 'network':
      fixes[suspects[i].test] = await agent(`Isolate ${suspects[i].test}: ${reason.reason}`, { isolation: 'worktree' })
      break
    default:
      log(`${suspects[i].test}: nobody knows why`)
  }
}
return { statistics, fixed: Object.keys(fixes), runs: tests.length * times }
