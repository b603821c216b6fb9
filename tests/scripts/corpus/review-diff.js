// Reviews a diff from several sides, tries to refute every finding, and reports what is left by severity.
export const meta = {
  name: 'review-diff',
  description: 'Review a diff along dimensions, verify each finding adversarially, report by severity',
  whenToUse: 'Before a merge, when a second pair of eyes is wanted',
  phases: [
    { title: 'Review', detail: 'one agent per dimension' },
    { title: 'Verify', detail: 'one skeptic per finding' },
    { title: 'Report' },
  ],
}

const SEVERITIES = ['critical', 'major', 'minor']
const FINDINGS = {
  type: 'object',
  additionalProperties: false,
  required: ['findings'],
  properties: {
    findings: {
      type: 'array',
      items: {
        type: 'object',
        required: ['title', 'file', 'severity', 'evidence'],
        properties: {
          title: { type: 'string' },
          file: { type: 'string' },
          severity: { enum: SEVERITIES },
          evidence: { type: 'string' },
        },
      },
    },
  },
}
const VERDICT = {
  type: 'object',
  required: ['refuted', 'reason'],
  properties: { refuted: { enum: [false, true] }, reason: { type: 'string' } },
}
const DIMENSIONS = [
  { key: 'correctness', ask: 'logic errors, wrong edge cases, broken invariants' },
  { key: 'security', ask: 'injection, missing checks, secrets in logs' },
  { key: 'performance', ask: 'work repeated in loops, queries without an index' },
]
const target = args?.range ?? 'HEAD~1..HEAD'

phase('Review')
const perDimension = await pipeline(
  DIMENSIONS,
  d => agent(`Look at git diff ${target} for ${d.ask}. Read the files, not only the diff.`, {
    label: `review:${d.key}`,
    phase: 'Review',
    schema: FINDINGS,
  }),
  async (review, d) => {
    const judged = await parallel(review.findings.map((finding, i) => () =>
      agent(`Try to refute this finding about ${finding.file}:\n${finding.title}\nEvidence: ${finding.evidence}`, {
        label: `verify:${d.key}:${i}`,
        phase: 'Verify',
        schema: VERDICT,
      }).then(verdict => ({ ...finding, dimension: d.key, verdict }))))
    return judged.filter(Boolean).filter(f => !f.verdict.refuted)
  },
)

const confirmed = perDimension.filter(Boolean).flat()
log(`${confirmed.length} findings survive of ${DIMENSIONS.length} reviews`)
if (confirmed.length === 0) return { target, verdict: 'clean', findings: [] }

phase('Report')
const ordered = confirmed.toSorted((a, b) =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || a.title.localeCompare(b.title))
const summary = await agent(`Write three sentences on these findings:\n${JSON.stringify(ordered, null, 2)}`)
return { target, verdict: 'changes-requested', summary, findings: ordered }
