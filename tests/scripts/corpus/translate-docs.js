// Translates documents with a glossary that is agreed first; each translation is translated back and compared.
export const meta = {
  name: 'translate-docs',
  description: 'Agree on a glossary, translate each document into each language, check by translating back',
  phases: [{ title: 'Glossary' }, { title: 'Translate' }, { title: 'Check' }],
}

const documents = args?.documents ?? ['README.md', 'docs/install.md', 'docs/faq.md']
const languages = args?.languages ?? ['German', 'French']
const TERMS = {
  type: 'object',
  required: ['terms'],
  properties: {
    terms: {
      type: 'array',
      items: {
        type: 'object',
        required: ['term', 'meaning'],
        properties: { term: { type: 'string' }, meaning: { type: 'string' } },
      },
    },
  },
}
const CHECK = {
  type: 'object',
  required: ['same', 'differs'],
  properties: { same: { enum: [true, false] }, differs: { type: 'array', items: { type: 'string' } } },
}

const memo = new Map()
const once = (key, make) => {
  if (!memo.has(key)) memo.set(key, make())
  return memo.get(key)
}
const glossaryFor = language => once(`glossary:${language}`, async () => {
  const { terms } = await agent(`Which words must always be translated alike into ${language}?`, {
    label: `glossary ${language}`, phase: 'Glossary', schema: TERMS,
  })
  return Object.fromEntries(terms.map(({ term, meaning }) => [term, meaning]))
})

const jobs = documents.flatMap(document => languages.map(language => ({ document, language })))
log(`${jobs.length} translations`)
const results = await pipeline(
  jobs,
  async job => ({ ...job, glossary: await glossaryFor(job.language) }),
  ({ glossary }, { document, language }) => agent(
    `Translate ${document} into ${language}.\n${Object.entries(glossary).map(([a, b]) => `${a} = ${b}`).join('\n')}`,
    { label: `${document} -> ${language}`, phase: 'Translate' },
  ),
  async (text, { document, language }, index) => {
    const back = await agent(`Translate back into English:\n${text}`, { label: `back ${index + 1}`, phase: 'Check' })
    const check = await agent(`Do these say the same?\n${document}\n---\n${back}`, {
      label: `compare ${index + 1}`, phase: 'Check', schema: CHECK,
    })
    return { document, language, ok: check.same, differs: check.differs.length }
  },
)
const byLanguage = Object.groupBy(results.filter(Boolean), r => r.language)
return {
  done: results.filter(r => r?.ok).length,
  failed: jobs.filter((_, i) => results[i] === null),
  languages: Object.fromEntries(Object.entries(byLanguage).map(([l, rs]) => [l, rs.every(r => r.ok)])),
}
