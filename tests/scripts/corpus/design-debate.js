// Two sides argue in rounds; a moderator stops when nothing new is said; a third party writes the decision.
export const meta = {
  name: 'design-debate',
  description: 'A debate between two positions with a moderator, ending in a decision record',
  phases: [{ title: 'Open' }, { title: 'Debate' }, { title: 'Decide' }],
}
const topic = args?.topic ?? 'one service or several'
const SIDES = args?.sides ?? ['one service', 'several services']
const MOST_ROUNDS = 3
const MODERATION = {
  type: 'object',
  required: ['newPoints', 'settled', 'next'],
  properties: {
    newPoints: { type: 'integer', minimum: 1 },
    settled: { enum: [false, true] },
    next: { type: 'string' },
  },
}
const RECORD = {
  type: 'object',
  required: ['title', 'status', 'decision', 'consequences'],
  properties: {
    title: { type: 'string' },
    status: { enum: ['accepted', 'rejected'] },
    decision: { type: 'string' },
    consequences: { type: 'array', items: { type: 'string' } },
  },
}

class Transcript {
  entries = []
  add(speaker, text) {
    this.entries.push({ speaker, text: text ?? '(says nothing)' })
    return this
  }
  *[Symbol.iterator]() {
    for (const { speaker, text } of this.entries) yield `${speaker}: ${text}`
  }
  toString() {
    return [...this].join('\n\n')
  }
  get words() {
    return this.entries.reduce((sum, e) => sum + e.text.split(/\s+/).length, 0)
  }
}
const transcript = new Transcript()

phase('Open')
const openings = await Promise.all(SIDES.map(side => agent(`Argue for "${side}" in: ${topic}`, { label: `opening: ${side}` })))
openings.forEach((text, i) => transcript.add(SIDES[i], text))

phase('Debate')
let question = 'Answer the strongest point of the other side.'
let rounds = 0
for (; rounds < MOST_ROUNDS; rounds++) {
  for (const side of SIDES) {
    transcript.add(side, await agent(`You argue for "${side}". ${question}\n\n${transcript}`, { label: `${side}, round ${rounds + 1}` }))
  }
  const moderation = await agent(`Anything new in this round?\n\n${transcript}`, { label: 'moderator', schema: MODERATION, effort: 'low' })
  if (!moderation || moderation.settled || moderation.newPoints === 0) break
  question = moderation.next
}

phase('Decide')
const record = await agent(`Write the decision record.\n\n${transcript}`, { schema: RECORD, model: args?.judge })
return { topic, rounds, said: transcript.entries.length, words: transcript.words, record }
