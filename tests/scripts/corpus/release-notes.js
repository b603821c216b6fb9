/* Writes release notes: sorts commits, asks for one line each, groups them, checks the tone. */
export const meta = {
  name: 'release-notes',
  description: 'Turn a list of commits into release notes that users understand',
  phases: ['Sort', 'Write', 'Edit'],
}

const commits = (args?.commits ?? [
  'feat(api): cursor pagination for /users',
  'fix: crash when the config file is empty',
  'docs: typo in the tutorial',
  'feat!: drop support for Node 16',
  'perf: cache compiled templates',
]).map((line, index) => ({ index, ...parse(line) }))

function parse(line) {
  const match = /^(?<type>\w+)(?:\((?<scope>[^)]+)\))?(?<breaking>!)?:\s*(?<text>.+)$/.exec(line)
  if (!match) return { type: 'other', scope: null, breaking: false, text: line }
  const { type, scope = null, breaking, text } = match.groups
  return { type, scope, breaking: Boolean(breaking), text }
}

const TITLES = { feat: 'Added', fix: 'Fixed', perf: 'Faster', other: 'Other' }
const LINE = {
  type: 'object',
  required: ['line', 'audience'],
  properties: { line: { type: 'string' }, audience: { enum: ['users', 'operators', 'nobody'] } },
}

phase('Sort')
const groups = Object.groupBy(commits, commit => (commit.type in TITLES ? commit.type : 'other'))
log(Object.entries(groups).map(([type, list]) => `${type}: ${list.length}`).join(', '))

phase('Write')
const written = await pipeline(
  commits,
  commit => (commit.type === 'docs' ? { line: '', audience: 'nobody' } : agent(
    `One line for users about: ${commit.text}${commit.breaking ? ' (this breaks what they have)' : ''}`,
    { label: commit.text.slice(0, 40), schema: LINE },
  )),
  (answer, commit, index) => ({ ...answer, ...commit, index }),
  entry => (entry.audience === 'nobody' ? null : entry),
)

phase('Edit')
const sections = []
for (const [type, title] of Object.entries(TITLES)) {
  const lines = written.filter(Boolean).filter(e => (e.type in TITLES ? e.type : 'other') === type)
  if (lines.length === 0) continue
  sections.push([`### ${title}`, ...lines.map(e => `* ${e.breaking ? '**Breaking:** ' : ''}${e.line}`)].join('\n'))
}
const draft = sections.join('\n\n')
const [clear, short] = await Promise.all([
  agent(`Is this clear to somebody new? Answer with the notes, improved:\n${draft}`, { label: 'clarity' }),
  agent(`Cut what nobody needs:\n${draft}`, { label: 'brevity' }),
])
const version = args?.version ?? (commits.some(c => c.breaking) ? 'major' : groups.feat ? 'minor' : 'patch')
return { version, notes: clear ?? short ?? draft, draft, lines: written.filter(Boolean).length }
