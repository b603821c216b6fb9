// Audits an HTTP API: routes are listed once, each is looked at by two auditors who must agree.
export const meta = {
  name: 'api-audit',
  description: 'Two independent auditors per route; where they disagree a third one decides',
  whenToUse: 'Before an API is opened to others',
  phases: [{ title: 'List' }, { title: 'Audit' }, { title: 'Decide' }],
}

const ROUTES = {
  type: 'object',
  required: ['routes'],
  properties: {
    routes: {
      type: 'array',
      items: {
        type: 'object',
        required: ['method', 'path'],
        properties: { method: { enum: ['GET', 'POST', 'DELETE'] }, path: { type: 'string' } },
      },
    },
  },
}
const OPINION = {
  type: 'object',
  required: ['auth', 'validation', 'problem'],
  properties: {
    auth: { enum: ['checked', 'missing', 'unclear'] },
    validation: { enum: ['strict', 'loose'] },
    problem: { type: 'string' },
  },
}
const RULES = `A route is fine when the caller is known, owns what is named, and unknown fields are refused.`

const same = (a, b) => a && b && a.auth === b.auth && a.validation === b.validation
const bad = opinion => opinion.auth !== 'checked' || opinion.validation !== 'strict'

phase('List')
const listed = await agent('List all routes with their methods, from the source.', { schema: ROUTES, model: args?.model })
const routes = listed?.routes ?? []
if (!routes.length) {
  log('no routes were found')
  return { routes: 0, problems: [] }
}

phase('Audit')
const audited = await parallel(routes.map(route => async () => {
  const name = `${route.method} ${route.path}`
  const ask = who => agent(`${RULES}\nYou are auditor ${who}. Look at ${name}.`, {
    label: `${who}: ${name}`, phase: 'Audit', schema: OPINION, agentType: 'auditor',
  })
  const [first, second] = await Promise.allSettled([ask('one'), ask('two')])
  const opinions = [first, second].map(r => (r.status === 'fulfilled' ? r.value : null))
  if (same(...opinions)) return { name, opinion: opinions[0], agreed: true }
  const third = await agent(
    `${RULES}\nTwo auditors disagree about ${name}:\n${opinions.map(o => JSON.stringify(o)).join('\n')}\nLook yourself.`,
    { label: `decide: ${name}`, phase: 'Decide', schema: OPINION, effort: 'high' },
  )
  return { name, opinion: third ?? opinions.find(Boolean), agreed: false }
}))

const problems = audited.filter(a => a?.opinion && bad(a.opinion)).map(a => ({ route: a.name, ...a.opinion, agreed: a.agreed }))
const unknown = audited.flatMap((a, i) => (a?.opinion ? [] : [`${routes[i].method} ${routes[i].path}`]))
log(`${problems.length} problems, ${unknown.length} routes that nobody could judge`)
return { routes: routes.length, problems, unknown, agreed: audited.filter(a => a?.agreed).length }
