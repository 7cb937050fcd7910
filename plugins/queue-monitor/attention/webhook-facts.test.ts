import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type EndpointOutcome, type Refusal, refused } from '../deliveries/outcomes.js'
import type { EndpointView } from '../webhooks/endpoint.js'
import { webhookFacts } from './webhook-facts.js'

const now = Date.UTC(2030, 0, 2)
const minuteMs = 60_000
const ago = (minutes: number): number => now - minutes * minuteMs

const refusal = (minutesAgo: number, more: Partial<Refusal> = {}): Refusal => ({
  at: ago(minutesAgo),
  enabledAt: ago(9 * 1440),
  createdAt: ago(minutesAgo + 1),
  error: 'The receiver responded with 500',
  isFinal: true,
  ...more,
})
const after = (refusals: readonly Refusal[], start?: EndpointOutcome): EndpointOutcome | undefined =>
  refusals.reduce<EndpointOutcome | undefined>((known, one) => refused(known, one), start)
const facts = (outcome: EndpointOutcome | undefined, enabledAt = ago(9 * 1440)) => {
  const createdAt = new Date(enabledAt).toISOString()
  const endpoint = { id: 'shop', target: 'https://shop.example', queues: '*', disabled: null, createdAt } as unknown as EndpointView
  return webhookFacts(endpoint, outcome, now)
}

describe('an endpoint', () => {
  it('fails from its first delivery on that was not accepted, and works again with the next one that is', () => {
    const outcome = after([refusal(20), refusal(10), refusal(5, { isFinal: false })])
    const [fact, ...others] = facts(outcome)
    assert.deepEqual([fact?.kind, fact?.count, fact?.since, others], ['webhook-failing', 3, ago(21), []])
    assert.match(fact?.cause ?? '', /2 deliveries failed after all attempts, 1 delivery failed and will be tried again/)
    assert.deepEqual(facts({ since: 0, error: '', dead: 0, trying: 0, good: ago(4) }), [])
    assert.deepEqual(facts(undefined), [])
  })

  it('counts each delivery once, however often it is tried or sent again', () => {
    const tried = refusal(20, { isFinal: false })
    const again = refusal(15, { isFinal: false, before: { at: ago(20), wasFinal: false } })
    const last = refusal(10, { before: { at: ago(15), wasFinal: false } })
    const resent = refusal(5, { isFinal: false, before: { at: ago(10), wasFinal: true } })
    for (const [refusals, counts] of [
      [
        [tried, again],
        [0, 1],
      ],
      [
        [tried, again, last],
        [1, 0],
      ],
      [
        [tried, again, last, resent],
        [0, 1],
      ],
      [
        [tried, again, last, refusal(6)],
        [2, 0],
      ],
    ] as const) {
      const { dead, trying } = after(refusals) ?? assert.fail('it failed')
      assert.deepEqual([dead, trying], counts)
    }
    // It was tried before another one was accepted.
    const { dead, trying } = after([again], { since: 0, error: '', dead: 0, trying: 0, good: ago(18) }) ?? assert.fail('it failed')
    assert.deepEqual([dead, trying], [0, 1])
  })

  it('does not fail by what was not accepted before it was enabled', () => {
    assert.deepEqual(facts(after([refusal(10)]), ago(2)), [])
    const [fact] = facts(after([refusal(10), refusal(1, { enabledAt: ago(2) })]), ago(2))
    assert.equal(fact?.count, 1)
  })

  it('is not listed for a delivery that failed more than a day ago', () => {
    assert.equal(facts(after([refusal(23 * 60)])).length, 1)
    assert.deepEqual(facts(after([refusal(25 * 60)])), [])
  })
})
