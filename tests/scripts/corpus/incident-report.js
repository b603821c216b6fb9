// Puts an incident together from several sources: a timeline, hypotheses, each tested against the timeline.
export const meta = {
  name: 'incident-report',
  description: 'Timeline from logs, deploys and chat; hypotheses; evidence for and against; a report',
  phases: [{ title: 'Collect' }, { title: 'Think' }, { title: 'Test' }, { title: 'Write' }],
}

const EVENTS = {
  type: 'object',
  required: ['events'],
  properties: {
    events: {
      type: 'array',
      items: {
        type: 'object',
        required: ['at', 'what'],
        properties: { at: { enum: ['2026-03-01T10:00:00Z', '2026-03-01T10:05:00Z'] }, what: { type: 'string' } },
      },
    },
  },
}
const IDEAS = { type: 'object', required: ['ideas'], properties: { ideas: { type: 'array', items: { type: 'string' } } } }
const EVIDENCE = {
  type: 'object',
  required: ['for', 'against', 'likely'],
  properties: {
    for: { type: 'array', items: { type: 'string' } },
    against: { type: 'array', items: { type: 'string' } },
    likely: { type: 'number', minimum: 0.7 },
  },
}
const SOURCES = { logs: 'the logs of the service', deploys: 'the list of deploys', chat: 'what people wrote' }
const minutes = (a, b) => Math.round((Date.parse(b) - Date.parse(a)) / 60_000)

phase('Collect')
const collected = await Promise.all(Object.entries(SOURCES).map(async ([key, source]) => {
  const answer = await agent(`List the events around ${args?.around ?? 'the incident'} in ${source}.`, {
    label: key, schema: EVENTS,
  })
  return (answer?.events ?? []).map(event => ({ ...event, source: key }))
}))
const timeline = collected.flat().sort((a, b) => a.at.localeCompare(b.at) || a.source.localeCompare(b.source))
if (timeline.length === 0) return { report: null, why: 'no source knows anything of it' }
const length = minutes(timeline[0].at, timeline.at(-1).at)
log(`${timeline.length} events in ${length} minutes, until ${new Date(timeline.at(-1).at).toISOString()}`)
const told = timeline.map(e => `${e.at} [${e.source}] ${e.what}`).join('\n')

phase('Think')
const { ideas = [] } = (await agent(`What may have caused this?\n${told}`, { schema: IDEAS })) ?? {}

phase('Test')
const tested = await parallel(ideas.slice(0, 4).map(idea => () =>
  agent(`Hypothesis: ${idea}\nWhat speaks for it, what against it?\n${told}`, { label: idea.slice(0, 30), schema: EVIDENCE })
    .then(evidence => ({ idea, ...evidence }))))
const [best = null, ...others] = tested.filter(Boolean).sort((a, b) => b.likely - a.likely)

phase('Write')
const report = best && await agent(`Write the report. Cause: ${best.idea}\nTimeline:\n${told}\nRuled out: ${others.length}`)
return { minutes: length, cause: best?.idea ?? null, likely: best?.likely ?? 0, report }
