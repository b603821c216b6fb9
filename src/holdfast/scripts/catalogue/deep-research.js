export const meta = {
  name: 'deep-research',
  description: 'Answers a question from many sources: scope it, search in parallel, read, check the claims, write',
  whenToUse: 'A question that one search does not answer, where wrong claims would be costly',
  phases: [
    { title: 'Scope', detail: 'Split the question into angles that do not overlap' },
    { title: 'Search', detail: 'One agent per angle looks for sources' },
    { title: 'Read', detail: 'Each source is read once, its claims are taken down with their words' },
    { title: 'Verify', detail: 'Each important claim is checked by an agent that tries to refute it' },
    { title: 'Write', detail: 'A report from what survived' },
  ],
  args: {
    type: 'object',
    properties: {
      question: { type: 'string', minLength: 1 },
      angles: { type: 'integer', minimum: 1, maximum: 10, description: 'How many ways to look at it (5)' },
      sources: { type: 'integer', minimum: 1, maximum: 40, description: 'How many sources to read at most (12)' },
    },
    required: ['question'],
    additionalProperties: false,
  },
}

const { question, angles: howMany = 5, sources: mostSources = 12 } = args

const list = (name, item) => ({
  type: 'object',
  properties: { [name]: { type: 'array', items: item } },
  required: [name],
})
const text = { type: 'string' }

phase('Scope')
const scope = await agent(
  `Split this question into at most ${howMany} angles that together answer it and do not overlap. For each give the ` +
    `search you would begin with.\n\nQuestion: ${question}`,
  {
    label: 'scope',
    schema: list('angles', {
      type: 'object',
      properties: { title: text, search: text },
      required: ['title', 'search'],
    }),
  },
)
if (!scope) throw new Error('the question could not be split into angles')
const angles = scope.angles.slice(0, howMany)

phase('Search')
const found = await parallel(
  angles.map((angle) => () =>
    agent(
      `Find the best sources for one angle of a question. Prefer primary sources; note what each is good for.\n\n` +
        `Question: ${question}\nAngle: ${angle.title}\nBegin with this search: ${angle.search}`,
      {
        label: angle.title,
        schema: list('sources', {
          type: 'object',
          properties: { url: text, title: text, why: text },
          required: ['url', 'title'],
        }),
      },
    ),
  ),
)

// The same page under two addresses is read once.
const address = (url) => url.trim().toLowerCase().replace(/^https?:\/\/(www\.)?/, '').replace(/[#?].*$/, '').replace(/\/$/, '')
const seen = new Set()
const sources = []
for (const source of found.filter(Boolean).flatMap((answer) => answer.sources)) {
  if (sources.length < mostSources && !seen.has(address(source.url))) {
    seen.add(address(source.url))
    sources.push(source)
  }
}
log(`${sources.length} sources to read`)

// A source is read and its claims are checked as soon as it is there; nobody waits for the slowest.
const claims = (
  await pipeline(
    sources,
    (source) =>
      agent(
        `Read this source and take down at most 5 claims that help to answer the question, each with the words it ` +
          `stands on. Answer with an empty list when it does not help.\n\nQuestion: ${question}\n` +
          `Source: ${source.title} ${source.url}`,
        {
          label: source.title.slice(0, 60),
          phase: 'Read',
          schema: list('claims', {
            type: 'object',
            properties: { claim: text, quote: text },
            required: ['claim', 'quote'],
          }),
        },
      ),
    (read, source) =>
      parallel(
        read.claims.slice(0, 5).map((claim) => async () => {
          const verdict = await agent(
            `Try to refute this claim. Look for other sources; say "refuted" when you are not convinced.\n\n` +
              `Claim: ${claim.claim}\nSaid by: ${source.url}\nIn these words: ${claim.quote}`,
            {
              label: claim.claim.slice(0, 60),
              phase: 'Verify',
              schema: {
                type: 'object',
                properties: { verdict: { enum: ['holds', 'refuted'] }, reason: text },
                required: ['verdict', 'reason'],
              },
            },
          )
          return verdict?.verdict === 'holds' ? { ...claim, source: source.url, reason: verdict.reason } : null
        }),
      ),
  )
)
  .filter(Boolean)
  .flat()
  .filter(Boolean)

log(`${claims.length} claims held`)
if (claims.length === 0) {
  const why = sources.length === 0 ? 'no source was found' : `of ${sources.length} sources no claim could be confirmed`
  throw new Error(`there is no report, because ${why}. Do the agents have tools to search and read the web?`)
}

phase('Write')
const report = await agent(
  `Write a report that answers the question from these checked claims alone. Cite the address after each statement. ` +
    `Say plainly what the claims do not settle.\n\nQuestion: ${question}\n\nClaims:\n${JSON.stringify(claims, null, 2)}`,
  { label: 'report' },
)
return { report, claims, sources: sources.map((source) => source.url) }
