import type { Expectation } from './attack.js'
import { headerOf, type WireResponse } from './wire.js'

export type Verdict = 'safe' | 'hole' | 'unclear' | 'skipped'

export interface Judgement {
  readonly verdict: Verdict
  /** The reason for `unclear`, and for a hole other than the one that the attack looks for. */
  readonly why?: string
}

const safe: Judgement = { verdict: 'safe' }

export function isAccepted({ status }: WireResponse): boolean {
  return status >= 200 && status < 300
}

/** Judges the responses of one round. `usual` is the response of the target to a valid request. */
export function judge(expect: Expectation, responses: readonly WireResponse[], usual: WireResponse): Judgement {
  const unable = responses.find(({ status }) => status === 429 || status === 503)
  if (unable !== undefined) return { verdict: 'unclear', why: `the app returns ${unable.status}` }
  const broken = responses.find(({ status }) => status >= 500 && ![501, 505].includes(status))
  if (broken !== undefined) return { verdict: 'hole', why: `the app fails with ${broken.status} instead of refusing` }
  const through = responses.filter(isAccepted)
  switch (expect) {
    case 'accepted':
      return through.length === responses.length ? safe : { verdict: 'unclear', why: 'the app refuses the valid request of this attack' }
    case 'once':
      if (through.length === 0) return { verdict: 'unclear', why: 'the app accepts none of the copies' }
      return { verdict: through.length === 1 ? 'safe' : 'hole' }
    case 'unreached':
      return { verdict: through.some((response) => kindOf(response) === kindOf(usual)) ? 'hole' : 'safe' }
    case 'refused':
    case 'rejected':
      return { verdict: through.length === 0 ? 'safe' : 'hole' }
  }
}

/** `401 ×49, 200`. */
export function statusesOf(responses: readonly WireResponse[]): string {
  const counts = new Map<number, number>()
  for (const { status } of responses) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${status === 0 ? 'closed' : status}${count > 1 ? ` ×${count}` : ''}`).join(', ')
}

function kindOf(response: WireResponse): string {
  return headerOf(response, 'content-type')?.split(';')[0] ?? ''
}

/** Headers that vary between responses but reveal nothing about the request. */
const unequal = /^(date|x-request-id|(x-)?rate-?limit.*|traceparent|server-timing)$/i

/** Everything in a response that reveals something to a caller; equal for indistinguishable refusals. */
export function imprintOf({ status, headers, body }: WireResponse): string {
  const lines = headers.filter(([name]) => !unequal.test(name)).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP ${status}`, ...lines, '', body.toString('latin1')].join('\n')
}
