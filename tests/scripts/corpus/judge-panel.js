// Several proposals, a panel of judges with different eyes, points, a runoff when it is close.
export const meta = {
  name: 'judge-panel',
  description: 'Generate proposals, score them by a panel, synthesize the best parts of the top two',
  phases: [{ title: 'Propose' }, { title: 'Judge' }, { title: 'Runoff' }, { title: 'Synthesize' }],
  budget: 100000,
}

const question = typeof args === 'string' ? args : args?.question ?? 'How should sessions be stored?'
const ANGLES = ['the simplest thing that works', 'risk first: what can go wrong', 'what the user sees']
const JUDGES = ['an engineer who is on call', 'somebody who pays for it', 'a newcomer to the code']
const SCORE = {
  type: 'object',
  required: ['points', 'because'],
  properties: { points: { type: 'integer', minimum: 6, maximum: 10 }, because: { type: 'string' } },
}

async function propose(angle, i) {
  const text = await agent(`${question}\nAnswer from this angle: ${angle}. At most 200 words.`, {
    label: `proposal ${i + 1}`,
    phase: 'Propose',
  })
  if (!text) throw new Error(`no proposal for ${angle}`)
  return { id: String.fromCharCode(65 + i), angle, text }
}

const proposals = (await parallel(ANGLES.map((angle, i) => () => propose(angle, i)))).filter(Boolean)
if (proposals.length === 0) throw new Error('Nobody proposed anything; there is nothing to judge.')

phase('Judge')
const scores = await parallel(proposals.flatMap(proposal => JUDGES.map(judge => async () => {
  const score = await agent(`You are ${judge}. Score this from 0 to 10:\n${proposal.text}`, {
    label: `${proposal.id} by ${judge}`,
    schema: SCORE,
  })
  return { id: proposal.id, judge, ...score }
})))

const table = new Map(proposals.map(p => [p.id, { ...p, points: 0, votes: 0, reasons: [] }]))
for (const score of scores.filter(Boolean)) {
  const row = table.get(score.id)
  row.points += score.points
  row.votes += 1
  row.reasons.push(`${score.judge}: ${score.because}`)
}
const ranking = [...table.values()].sort((a, b) => b.points - a.points || a.id.localeCompare(b.id))
ranking.forEach((row, place) => log(`${place + 1}. ${row.id} ${row.points}/${row.votes * 10}`))

let [winner, second] = ranking
if (second && Math.abs(winner.points - second.points) <= 1) {
  phase('Runoff')
  const pick = await agent(`Which is better, ${winner.id} or ${second.id}? Say one letter.\n${winner.text}\n---\n${second.text}`)
  if (pick?.trim().startsWith(second.id)) [winner, second] = [second, winner]
}

phase('Synthesize')
const final = await agent(
  `Write the final answer to "${question}". Start from ${winner.id}; take over what is better in ${second?.id ?? 'nothing'}.`,
  { effort: 'high' },
)
return { question, winner: winner.id, final, ranking: ranking.map(({ id, points }) => ({ id, points })) }
