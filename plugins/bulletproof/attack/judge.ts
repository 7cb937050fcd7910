import type { Expectation } from './attack.js'
import { type Answer, headerOf } from './wire.js'

export type Verdict = 'safe' | 'hole' | 'unclear' | 'skipped'

export interface Judgement {
  readonly verdict: Verdict
  /** What speaks for `unclear` and for a hole that is not the attack's own. */
  readonly why?: string
}

const safe: Judgement = { verdict: 'safe' }

export function isAccepted({ status }: Answer): boolean {
  return status >= 200 && status < 300
}

/** Judges the answers of one round. `usual` is what the target gives to an honest client. */
export function judge(expect: Expectation, answers: readonly Answer[], usual: Answer): Judgement {
  const unable = answers.find(({ status }) => status === 429 || status === 503)
  if (unable !== undefined) return { verdict: 'unclear', why: `the app answers ${unable.status}` }
  const broken = answers.find(({ status }) => status >= 500 && ![501, 505].includes(status))
  if (broken !== undefined) return { verdict: 'hole', why: `the app fails with ${broken.status} instead of refusing` }
  const through = answers.filter(isAccepted)
  switch (expect) {
    case 'accepted':
      return through.length === answers.length ? safe : { verdict: 'unclear', why: 'the app refuses the honest request of this attack' }
    case 'once':
      if (through.length === 0) return { verdict: 'unclear', why: 'the app takes none of the copies' }
      return { verdict: through.length === 1 ? 'safe' : 'hole' }
    case 'unreached':
      return { verdict: through.some((answer) => kindOf(answer) === kindOf(usual)) ? 'hole' : 'safe' }
    case 'refused':
    case 'rejected':
      return { verdict: through.length === 0 ? 'safe' : 'hole' }
  }
}

/** `401 ×49, 200`. */
export function statusesOf(answers: readonly Answer[]): string {
  const counts = new Map<number, number>()
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${status === 0 ? 'closed' : status}${count > 1 ? ` ×${count}` : ''}`).join(', ')
}

function kindOf(answer: Answer): string {
  return headerOf(answer, 'content-type')?.split(';')[0] ?? ''
}

/** Headers that differ from answer to answer without saying anything about the request. */
const unequal = /^(date|x-request-id|(x-)?rate-?limit.*|traceparent|server-timing)$/i

/** All of an answer that a caller could learn from: equal for refusals that cannot be told apart. */
export function imprintOf({ status, headers, body }: Answer): string {
  const lines = headers.filter(([name]) => !unequal.test(name)).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP ${status}`, ...lines, '', body.toString('latin1')].join('\n')
}
