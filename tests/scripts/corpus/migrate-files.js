// Migrates many files from one API to another: finds the places, changes them in batches, checks, retries once.
export const meta = {
  name: 'migrate-files',
  description: 'Find every use of an API, migrate each in a worktree, verify, retry what failed',
  phases: [{ title: 'Discover' }, { title: 'Migrate' }, { title: 'Verify' }, { title: 'Retry' }],
  args: {
    type: 'object',
    properties: { from: { type: 'string' }, to: { type: 'string' }, limit: { type: 'integer' } },
  },
}

const from = args?.from ?? 'moment'
const to = args?.to ?? 'Temporal'
const SITES = {
  type: 'object',
  required: ['sites'],
  properties: {
    sites: {
      type: 'array',
      items: {
        type: 'object',
        required: ['file', 'risk'],
        properties: { file: { type: 'string' }, risk: { enum: ['low', 'high'] }, lines: { type: 'integer', minimum: 3 } },
      },
    },
  },
}
const DONE = {
  type: 'object',
  required: ['ok', 'notes'],
  properties: { ok: { type: 'boolean' }, notes: { type: 'string' } },
}

function* batches(items, size) {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}

class Progress {
  #done = new Map()
  note(file, result) { this.#done.set(file, result) }
  get failed() { return [...this.#done].filter(([, r]) => !r?.ok).map(([file]) => file) }
  get succeeded() { return [...this.#done].filter(([, r]) => r?.ok).map(([file]) => file) }
  get size() { return this.#done.size }
}

phase('Discover')
const found = await parallel(['src', 'lib', 'test'].map(dir => () =>
  agent(`List every file below ${dir} that uses ${from}.`, { label: `scan:${dir}`, schema: SITES, effort: 'low' })))
const sites = [...new Map(found.filter(Boolean).flatMap(f => f.sites).map(s => [s.file, s])).values()]
  .sort((a, b) => a.file < b.file ? -1 : 1)
  .slice(0, args?.limit ?? 50)
log(`${sites.length} files use ${from}`)

phase('Migrate')
const progress = new Progress()
for (const batch of batches(sites, 3)) {
  const results = await parallel(batch.map(site => () =>
    agent(`Migrate ${site.file} from ${from} to ${to}. Keep behaviour. Risk: ${site.risk}.`, {
      label: site.file, isolation: 'worktree', schema: DONE, ...(site.risk === 'high' && { effort: 'high' }),
    })))
  results.forEach((result, i) => progress.note(batch[i].file, result))
  log(`${progress.size} of ${sites.length} done`)
}

phase('Verify')
const check = await agent(`Run the tests that touch: ${progress.succeeded.join(', ') || 'nothing'}`, { schema: DONE })
if (progress.failed.length) {
  phase('Retry')
  for (const file of progress.failed) {
    try {
      progress.note(file, await agent(`Try ${file} again, smaller steps.`, { label: `retry ${file}`, schema: DONE }))
    } catch (error) {
      console.warn(`gave up on ${file}: ${error.message}`)
    }
  }
}
return { from, to, migrated: progress.succeeded, failed: progress.failed, testsPass: check?.ok ?? false }
