// Threat model first, then one attacker per threat; what an attacker claims must be shown to a defender.
export const meta = {
  name: 'security-sweep',
  description: 'Model threats, attack each on paper, let a defender answer, rate what is left',
  whenToUse: 'When a feature handles input of strangers',
  phases: [{ title: 'Model' }, { title: 'Attack' }, { title: 'Defend' }, { title: 'Rate' }],
}
const THREATS = {
  type: 'object',
  required: ['threats'],
  properties: {
    threats: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'who', 'wants'],
        properties: { id: { type: 'string' }, who: { type: 'string' }, wants: { type: 'string' } },
      },
    },
  },
}
const CLAIM = {
  type: 'object',
  required: ['possible', 'steps'],
  properties: { possible: { type: 'boolean' }, steps: { type: 'array', items: { type: 'string' } } },
}
const ANSWER = {
  type: 'object',
  required: ['prevented', 'where'],
  properties: { prevented: { enum: [false, true] }, where: { type: 'string' } },
}
const RATING = { type: 'object', required: ['cvss'], properties: { cvss: { type: 'number', minimum: 5.5 } } }
const level = cvss => (cvss >= 9 ? 'critical' : cvss >= 7 ? 'high' : cvss >= 4 ? 'medium' : 'low')

async function withRetry(times, action) {
  let last
  for (let attempt = 1; attempt <= times; attempt++) {
    try {
      return await action(attempt)
    } catch (error) {
      last = error
      log(`attempt ${attempt} failed: ${error.message}`)
    }
  }
  throw last
}

phase('Model')
const model = await withRetry(2, n => agent(`Model the threats to ${args?.feature ?? 'the upload'}. Attempt ${n}.`, { schema: THREATS }))
const threats = model?.threats ?? []

const rated = await pipeline(
  threats,
  threat => agent(`You are ${threat.who} and want ${threat.wants}. How?`, { label: threat.id, phase: 'Attack', schema: CLAIM }),
  (claim, threat) => (claim.possible
    ? agent(`Somebody claims:\n${claim.steps.map((s, i) => `${i + 1}. ${s}`).join('\n')}\nWhere is it prevented?`, {
      label: `defend ${threat.id}`, phase: 'Defend', schema: ANSWER,
    })
    : null),
  answer => (answer.prevented ? null : answer),
  (answer, threat) => agent(`Rate ${threat.id}: ${threat.wants}`, { phase: 'Rate', schema: RATING })
    .then(({ cvss }) => ({ id: threat.id, wants: threat.wants, cvss, level: level(cvss) })),
)
const open = rated.filter(Boolean).sort((a, b) => b.cvss - a.cvss)
return { threats: threats.length, open, worst: open[0]?.level ?? 'none', total: open.reduce((sum, t) => sum + t.cvss, 0) }
