export const meta = {
  name: 'review-code',
  description: 'Three reviewers look at a change from different sides; what they find is merged by severity',
  whenToUse: 'Before a change is merged',
  phases: [{ title: 'Review', detail: 'Bugs, security and design, at the same time' }, { title: 'Merge' }],
  args: {
    type: 'object',
    properties: {
      change: { type: 'string', description: 'What to review: a branch, a range of commits, paths (the working tree)' },
      focus: { type: 'string', description: 'What to look at most closely' },
    },
    additionalProperties: false,
  },
}

const change = args?.change ?? 'the uncommitted changes of the working tree'
const focus = args?.focus ? `\nLook most closely at: ${args.focus}` : ''

const SIDES = {
  bugs: 'Wrong results, forgotten cases, races, resources that leak, errors that are swallowed.',
  security: 'What a hostile caller or hostile data could do: injection, missing checks, secrets, paths, limits.',
  design: 'What the next reader will stumble over: unclear names, doubled code, wrong place, missing tests.',
}
const SEVERITIES = ['critical', 'high', 'medium', 'low']
const FINDINGS = {
  type: 'object',
  properties: {
    findings: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          title: { type: 'string' },
          severity: { enum: SEVERITIES },
          file: { type: 'string' },
          line: { type: 'integer' },
          explanation: { type: 'string' },
          suggestion: { type: 'string' },
        },
        required: ['title', 'severity', 'file', 'explanation'],
      },
    },
  },
  required: ['findings'],
}

phase('Review')
const reviews = await parallel(
  Object.entries(SIDES).map(([side, what]) => () =>
    agent(
      `Review ${change}. You look only at ${side}: ${what}${focus}\nRead the code around the change before you judge. ` +
        `Report what you are sure of, with file and line; an empty list is a good answer.`,
      { label: side, schema: FINDINGS },
    ),
  ),
)
const answered = Object.keys(SIDES).filter((_, i) => reviews[i])
if (answered.length === 0) throw new Error('no reviewer answered')

phase('Merge')
const all = reviews.flatMap((review, i) =>
  (review?.findings ?? []).map((finding) => ({ ...finding, side: Object.keys(SIDES)[i] })),
)
if (all.length === 0) return { findings: [], reviewers: answered }
const merged = await agent(
  `Three reviewers looked at the same change. Merge findings that are the same thing, keep the clearest explanation and ` +
    `the highest severity, and drop what the code shows to be wrong.\n\n${JSON.stringify(all, null, 2)}`,
  { label: 'merge', schema: FINDINGS },
)
const findings = [...(merged?.findings ?? all)].sort(
  (a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity),
)
return { findings, reviewers: answered }
