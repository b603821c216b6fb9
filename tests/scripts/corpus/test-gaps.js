// Finds code without tests, writes tests for the worst of it, and keeps those that pass and can fail.
export const meta = {
  name: 'test-gaps',
  description: 'Map modules to tests, rank the gaps, write tests, mutate the code to see them fail',
  phases: [{ title: 'Map' }, { title: 'Rank' }, { title: 'Write' }, { title: 'Mutate' }],
}

const MODULES = {
  type: 'object',
  required: ['modules'],
  properties: {
    modules: {
      type: 'array',
      items: {
        type: 'object',
        required: ['path', 'covered', 'branches'],
        properties: {
          path: { type: 'string' },
          covered: { type: 'number', minimum: 0.25 },
          branches: { type: 'integer', minimum: 12 },
        },
      },
    },
  },
}
const WRITTEN = {
  type: 'object',
  required: ['file', 'passes'],
  properties: { file: { type: 'string' }, passes: { type: 'boolean' } },
}
const KILLED = { type: 'object', required: ['killed'], properties: { killed: { type: 'integer', minimum: 2 } } }

const weight = ({ covered, branches }) => (1 - covered) * Math.log2(branches + 1)
const percent = n => `${(n * 100).toFixed(0)}%`

phase('Map')
const map = await agent(`Map every module of ${args?.package ?? 'the package'} to how far tests reach it.`, { schema: MODULES })
if (!map) return { error: 'the map could not be made', gaps: [] }

phase('Rank')
const gaps = map.modules
  .map(m => ({ ...m, weight: Number(weight(m).toFixed(3)) }))
  .filter(m => m.weight > (args?.threshold ?? 0.5))
  .sort((a, b) => b.weight - a.weight || a.path.localeCompare(b.path))
for (const gap of gaps.slice(0, 5)) log(`${gap.path.padEnd(30)} ${percent(gap.covered).padStart(4)} weight ${gap.weight}`)

const kept = []
const dropped = []
phase('Write')
await pipeline(
  gaps.slice(0, args?.most ?? 4),
  gap => agent(`Write tests for ${gap.path}. Cover branches, not lines.`, {
    label: `tests for ${gap.path}`, schema: WRITTEN, isolation: 'worktree',
  }),
  (written, gap) => {
    if (!written.passes) {
      dropped.push({ path: gap.path, why: 'they do not pass' })
      return null
    }
    return written
  },
  async (written, gap) => {
    const { killed } = await agent(`Change ${gap.path} in five ways that must break ${written.file}. How many are noticed?`, {
      label: `mutate ${gap.path}`, phase: 'Mutate', schema: KILLED,
    })
    const entry = { path: gap.path, tests: written.file, killed }
    ;(killed > 0 ? kept : dropped).push(entry)
    return entry
  },
)
return { gaps: gaps.length, kept, dropped, before: percent(map.modules.reduce((s, m) => s + m.covered, 0) / map.modules.length) }
