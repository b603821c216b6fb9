export const meta = {
  name: 'multi-review',
  description: 'Several models review the same thing blindly, then judge each other’s findings; the majority decides',
  whenToUse: 'A decision where one model’s blind spot would hurt: a design, a migration, a contract',
  phases: [
    { title: 'Review', detail: 'Each model for itself' },
    { title: 'Judge', detail: 'Each finding goes to the models that did not make it' },
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
const findings = reviews.flatMap((review, author) =>
  (review?.findings ?? []).slice(0, 8).map((finding) => ({ ...finding, author })),
)
const judged = await pipeline(findings, async (finding) => {
  const judges = reviewers.filter((_, i) => i !== finding.author)
  const votes = await parallel(
    judges.map((judge) => () =>
      agent(
        `Somebody reviewed the following and claims something about it. Do you agree? Look for yourself.\n\n` +
          `${args.subject}\n\nClaim: ${finding.claim}\nReason: ${finding.reason}`,
        { label: `${judge.name}: ${finding.claim.slice(0, 40)}`, model: judge.model, schema: VOTE },
      ),
    ),
  )
  const agree = votes.filter((vote) => vote?.agree).length
  return { claim: finding.claim, reason: finding.reason, author: reviewers[finding.author].name, agree, of: judges.length }
})
const kept = judged.filter((finding) => finding && finding.agree * 2 >= finding.of).sort((a, b) => b.agree - a.agree)

phase('Conclude')
log(`${kept.length} of ${findings.length} findings stand`)
const conclusion = await agent(
  `Write a conclusion of at most 200 words from these findings, which a majority of reviewers shares.\n\n` +
    JSON.stringify(kept, null, 2),
  { label: 'conclusion' },
)
return { conclusion, findings: kept, dropped: findings.length - kept.length }
