export const meta = {
  name: 'multi-review',
  description: 'Several models review the same thing blindly, then judge each other’s findings; the majority decides',
  whenToUse: 'A decision where one model’s blind spot would hurt: a design, a migration, a contract',
  phases: [
    { title: 'Review', detail: 'Each model for itself' },
    { title: 'Judge', detail: 'Equal findings are merged; each goes to the models that did not make it' },
    { title: 'Conclude' },
  ],
  args: {
    type: 'object',
    properties: {
      subject: { type: 'string', minLength: 1, description: 'What to review: paths, a text, a question' },
      models: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 6, description: 'Names of models' },
    },
    required: ['subject'],
    additionalProperties: false,
  },
}

// Without names, three reviewers of the model that is used anyway; each has a character of its own.
const reviewers = args.models
  ? args.models.map((model) => ({ name: model, model }))
  : ['a sceptic', 'a pragmatist', 'a newcomer'].map((name) => ({ name }))

const FINDINGS = {
  type: 'object',
  properties: {
    findings: {
      type: 'array',
      items: {
        type: 'object',
        properties: { claim: { type: 'string' }, reason: { type: 'string' } },
        required: ['claim', 'reason'],
      },
    },
  },
  required: ['findings'],
}
const GROUPS = {
  type: 'object',
  properties: { groups: { type: 'array', items: { type: 'array', items: { type: 'integer', minimum: 0 } } } },
  required: ['groups'],
}
const VOTE = {
  type: 'object',
  properties: { agree: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['agree', 'reason'],
}

phase('Review')
const reviews = await parallel(
  reviewers.map((reviewer) => () =>
    agent(
      `Review this as ${reviewer.model ? 'an expert' : reviewer.name}. At most 8 findings, the weightiest first, each with ` +
        `its reason.\n\n${args.subject}`,
      { label: reviewer.name, model: reviewer.model, schema: FINDINGS },
    ),
  ),
)

phase('Judge')
const claimed = reviews.flatMap((review, author) =>
  (review?.findings ?? []).slice(0, 8).map((finding) => ({ ...finding, authors: [author] })),
)

// The same finding of two reviewers is voted on once, and both count as having agreed.
const merge = (group) => ({ ...group[0], authors: [...new Set(group.flatMap((finding) => finding.authors))].sort() })
const words = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ').trim()
const alike = new Map()
for (const finding of claimed) alike.set(words(finding.claim), [...(alike.get(words(finding.claim)) ?? []), finding])
let findings = [...alike.values()].map(merge)
if (new Set(findings.flatMap((finding) => finding.authors)).size > 1) {
  const same = await agent(
    `Group the findings below that say the same in other words. Answer with the groups of two or more, by number.\n\n` +
      findings.map((finding, number) => `${number}. ${finding.claim}`).join('\n'),
    { label: 'merge', schema: GROUPS },
  )
  const taken = new Set()
  const groups = (same?.groups ?? []).map((group) =>
    [...new Set(group)].filter((number) => number < findings.length && !taken.has(number) && taken.add(number)),
  )
  const rest = findings.filter((_, number) => !taken.has(number))
  findings = [...groups.filter((group) => group.length > 0).map((group) => merge(group.map((n) => findings[n]))), ...rest]
}
log(`${claimed.length} findings, ${findings.length} after merging`)

const judged = await pipeline(findings, async (finding) => {
  const judges = reviewers.filter((_, i) => !finding.authors.includes(i))
  const votes = await parallel(
    judges.map((judge) => () =>
      agent(
        `Somebody reviewed the following and claims something about it. Do you agree? Look for yourself.\n\n` +
          `${args.subject}\n\nClaim: ${finding.claim}\nReason: ${finding.reason}`,
        { label: `${judge.name}: ${finding.claim.slice(0, 40)}`, model: judge.model, schema: VOTE },
      ),
    ),
  )
  // Who made it agrees with it; who failed to answer has no vote.
  const given = votes.filter(Boolean)
  const agree = finding.authors.length + given.filter((vote) => vote.agree).length
  const authors = finding.authors.map((i) => reviewers[i].name)
  return { claim: finding.claim, reason: finding.reason, authors, agree, of: finding.authors.length + given.length }
})
// Of one vote alone nothing follows, unless there is only one reviewer.
const stands = (finding) => finding.agree * 2 > finding.of && (finding.of > 1 || reviewers.length === 1)
const kept = judged.filter((finding) => finding && stands(finding)).sort((a, b) => b.agree - a.agree)

phase('Conclude')
log(`${kept.length} of ${findings.length} findings stand`)
if (reviews.every((review) => !review)) throw new Error('no reviewer answered, so nothing was reviewed')
const conclusion = await agent(
  `Write a conclusion of at most 200 words from these findings, which a majority of reviewers shares.\n\n` +
    JSON.stringify(kept, null, 2),
  { label: 'conclusion' },
)
return { conclusion, findings: kept, dropped: findings.length - kept.length }
