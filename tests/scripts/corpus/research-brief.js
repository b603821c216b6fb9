// A brief on a question: sub-questions, several sources each, claims with their sources, contradictions named.
export const meta = {
  name: 'research-brief',
  description: 'Split a question, research the parts in parallel, keep claims that have sources, write a brief',
  phases: [{ title: 'Split' }, { title: 'Research' }, { title: 'Compare' }, { title: 'Brief' }],
  args: { type: 'object', properties: { question: { type: 'string' }, depth: { type: 'integer', minimum: 1 } } },
}
const question = args?.question?.trim() || 'Which queue suits a small team?'
const PARTS = { type: 'object', required: ['parts'], properties: { parts: { type: 'array', items: { type: 'string' } } } }
const CLAIMS = {
  type: 'object',
  required: ['claims'],
  properties: {
    claims: {
      type: 'array',
      items: {
        type: 'object',
        required: ['text', 'source', 'confidence'],
        properties: {
          text: { type: 'string' },
          source: { type: 'string' },
          confidence: { type: 'number', minimum: 0.6, maximum: 1 },
        },
      },
    },
  },
}
const CONFLICTS = {
  type: 'object',
  required: ['conflicts'],
  properties: { conflicts: { type: 'array', items: { type: 'array', items: { type: 'integer', minimum: 0 } } } },
}
const host = source => { try { return new URL(source).host } catch { return 'offline' } }
const unique = (items, by) => [...new Map(items.map(item => [by(item), item])).values()]

phase('Split')
const { parts } = await agent(`Split into at most ${args?.depth ?? 3} independent parts: ${question}`, { schema: PARTS })

phase('Research')
const researched = await parallel(parts.map((part, i) => () => agent(
  `Research: ${part}\nEvery claim needs a source that you really read.`,
  { label: `part ${i + 1}`, schema: CLAIMS, tools: ['web_search', 'web_fetch'], max_tool_calls: 20 },
)))
const claims = unique(
  researched.flatMap((r, i) => (r?.claims ?? []).map(claim => ({ ...claim, part: parts[i] }))).filter(c => c.source && c.confidence >= 0.5),
  claim => claim.text.toLowerCase().replace(/\W+/g, ' '),
)
if (claims.length === 0) throw new Error('No claim has a source: there is nothing to write a brief from.')
log(`${claims.length} claims from ${new Set(claims.map(c => host(c.source))).size} hosts`)

phase('Compare')
const numbered = claims.map((c, i) => `[${i}] ${c.text}`).join('\n')
const { conflicts } = (await agent(`Which of these contradict each other? Pairs of numbers.\n${numbered}`, { schema: CONFLICTS })) ?? { conflicts: [] }
const real = conflicts.filter(pair => pair.length === 2 && pair.every(n => n in claims) && pair[0] !== pair[1])

phase('Brief')
const brief = await agent(`Write a brief on "${question}" from these claims alone:\n${numbered}\nOpen: ${real.length} contradictions`)
return { question, brief, claims: claims.length, contradictions: real.length }
