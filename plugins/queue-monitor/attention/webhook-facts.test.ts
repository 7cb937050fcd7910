import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Delivery } from '../deliveries/delivery.js'
import type { EndpointView } from '../webhooks/endpoint.js'
import { failedDeliveries, isUndecided, webhookFacts } from './webhook-facts.js'

const now = Date.UTC(2030, 0, 2)
const minuteMs = 60_000
const iso = (ms: number): string => new Date(ms).toISOString()

const delivery = (state: Delivery['state'], minutesAgo: number, endpoint = 'shop'): Delivery => ({
  id: `msg_${state}_${minutesAgo}`,
  endpoint,
  channel: 'webhook',
  event: 'job.failed',
  queue: 'mails',
  state,
  createdAt: iso(now - minutesAgo * minuteMs),
  endedAt: state === 'pending' ? null : iso(now - minutesAgo * minuteMs),
  nextAt: null,
  attempts: 1,
  maxAttempts: 8,
  error: state === 'delivered' ? null : 'The receiver responded with 500',
  tries: [],
})
const facts = (failed: readonly Delivery[], delivered: readonly Delivery[], enabledDaysAgo = 9) => {
  const createdAt = iso(now - enabledDaysAgo * 1440 * minuteMs)
  const endpoint = { id: 'shop', target: 'https://shop.example', queues: '*', disabled: null, createdAt } as unknown as EndpointView
  return webhookFacts(endpoint, { failing: failedDeliveries(failed, now), delivered })
}

describe('an endpoint', () => {
  it('fails from its first delivery on that was not accepted, and works again with the next one that is', () => {
    const failed = [delivery('failed', 10), delivery('failed', 20), delivery('pending', 5)]
    const [fact, ...others] = facts(failed, [delivery('delivered', 30)])
    assert.deepEqual([fact?.kind, fact?.count, fact?.since, others], ['webhook-failing', 3, now - 20 * minuteMs, []])
    assert.match(fact?.cause ?? '', /2 deliveries failed after all attempts, 1 delivery failed and will be tried again/)
    assert.deepEqual(facts(failed, [delivery('delivered', 4)]), [])
  })

  it('does not fail by what was not accepted before it was enabled', () => {
    assert.deepEqual(facts([delivery('failed', 10)], [], 0.001), [])
    assert.equal(facts([delivery('failed', 1)], [], 0.001).length, 1)
  })

  it('is not known to fail by a delivery of more than a day ago: what was accepted since may have been forgotten', () => {
    assert.equal(facts([delivery('failed', 23 * 60)], []).length, 1)
    assert.deepEqual(facts([delivery('failed', 25 * 60)], []), [])
  })

  it('is looked for in older accepted deliveries, as long as these are newer than its failure', () => {
    const busy = Array.from({ length: 100 }, (_, n) => delivery('delivered', n / 100, 'other'))
    const failing = [delivery('failed', 10)]
    assert.equal(isUndecided(failing, []), true)
    assert.equal(isUndecided(failing, busy), true)
    assert.equal(isUndecided(failing, [...busy, delivery('delivered', 5)]), false)
    assert.equal(isUndecided(failing, [...busy, delivery('delivered', 11, 'other')]), false)
    assert.equal(isUndecided([], []), false)
  })
})
