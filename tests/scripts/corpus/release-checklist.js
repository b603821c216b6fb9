// A long checklist, one agent per group of points: as scripts grow that people keep for years.
export const meta = {
  name: 'release-checklist',
  description: 'Go through a long checklist before a release, group by group, and report what is open',
  phases: [{ title: 'Check' }, { title: 'Report' }],
}

const CHECKLIST = [
  {
    id: 'errors-01',
    area: 'errors',
    point: 'Every error says what to do',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 2,
  },
  {
    id: 'errors-02',
    area: 'errors',
    point: 'No error is swallowed',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 3,
  },
  {
    id: 'errors-03',
    area: 'errors',
    point: 'Retries have a limit',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 1,
  },
  {
    id: 'errors-04',
    area: 'errors',
    point: 'Timeouts are set on every call',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 2,
  },
  {
    id: 'errors-05',
    area: 'errors',
    point: 'Partial results are told apart from full ones',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 3,
  },
  {
    id: 'data-06',
    area: 'data',
    point: 'Migrations only go forward',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 1,
  },
  {
    id: 'data-07',
    area: 'data',
    point: 'Every table has an owner',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 2,
  },
  {
    id: 'data-08',
    area: 'data',
    point: 'Deletes are fenced',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 3,
  },
  {
    id: 'data-09',
    area: 'data',
    point: 'Indexes exist for every list',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 1,
  },
  {
    id: 'data-10',
    area: 'data',
    point: 'Times are stored in UTC',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 2,
  },
  {
    id: 'security-11',
    area: 'security',
    point: 'Every route checks the caller',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 3,
  },
  {
    id: 'security-12',
    area: 'security',
    point: 'Input is parsed strictly',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 1,
  },
  {
    id: 'security-13',
    area: 'security',
    point: 'Secrets never reach a log',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 2,
  },
  {
    id: 'security-14',
    area: 'security',
    point: 'Paths stay below their root',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 3,
  },
  {
    id: 'security-15',
    area: 'security',
    point: 'Uploads are bounded',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 1,
  },
  {
    id: 'interface-16',
    area: 'interface',
    point: 'Every action has a name',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 2,
  },
  {
    id: 'interface-17',
    area: 'interface',
    point: 'The keyboard reaches everything',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 3,
  },
  {
    id: 'interface-18',
    area: 'interface',
    point: 'Empty states say what to do',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 1,
  },
  {
    id: 'interface-19',
    area: 'interface',
    point: 'Errors stand at their field',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 2,
  },
  {
    id: 'interface-20',
    area: 'interface',
    point: 'Nothing jumps while it loads',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 3,
  },
  {
    id: 'operations-21',
    area: 'operations',
    point: 'A restart loses nothing',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 1,
  },
  {
    id: 'operations-22',
    area: 'operations',
    point: 'Health tells the truth',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 2,
  },
  {
    id: 'operations-23',
    area: 'operations',
    point: 'Metrics have units',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 3,
  },
  {
    id: 'operations-24',
    area: 'operations',
    point: 'Backups are restored in a test',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 1,
  },
  {
    id: 'operations-25',
    area: 'operations',
    point: 'Limits are written down',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 2,
  },
  {
    id: 'tests-26',
    area: 'tests',
    point: 'A test can fail',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 3,
  },
  {
    id: 'tests-27',
    area: 'tests',
    point: 'No test depends on speed',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 1,
  },
  {
    id: 'tests-28',
    area: 'tests',
    point: 'Both databases are used',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 2,
  },
  {
    id: 'tests-29',
    area: 'tests',
    point: 'Kills are tried',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 3,
  },
  {
    id: 'tests-30',
    area: 'tests',
    point: 'Bad input is tried',
    how: [
      'Look for the places where this could be otherwise.',
      'Name the file and the line.',
    ],
    weight: 1,
  },
]

const ANSWER = {
  type: 'object',
  required: ['open'],
  properties: {
    open: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'where'],
        properties: { id: { type: 'string' }, where: { type: 'string' } },
      },
    },
  },
}
const only = new Set(args?.areas ?? [])
const wanted = CHECKLIST.filter(item => only.size === 0 || only.has(item.area))
const groups = Object.entries(Object.groupBy(wanted, item => item.area))
if (groups.length === 0) throw new Error(`No such areas: ${[...only].join(', ')}`)

phase('Check')
const answers = await pipeline(
  groups,
  ([area, items]) => agent(
    `Check ${area}:\n${items.map(i => `${i.id} ${i.point}\n${i.how.map(h => `   - ${h}`).join('\n')}`).join('\n')}`,
    { label: area, schema: ANSWER, phase: 'Check' },
  ),
  ({ open }, [area, items]) => ({ area, points: items.length, open, weight: items.reduce((s, i) => s + i.weight, 0) }),
)
const failed = groups.filter((_, i) => answers[i] === null).map(([area]) => area)

phase('Report')
const done = answers.filter(Boolean)
const open = done.flatMap(a => a.open.map(o => ({ ...o, area: a.area })))
for (const a of done) log(`${a.area.padEnd(12)} ${a.points} points, ${a.open.length} open, weight ${a.weight}`)
const text = open.length ? await agent(`Sum up what is open:\n${open.map(o => `${o.area}: ${o.where}`).join('\n')}`) : 'Nothing is open.'
return { checked: wanted.length, open: open.length, failed, text }
