import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeClock } from 'zin/testing'
import { workerErrors } from '../errors.js'
import { workerRecord } from '../testing/worker-record.js'
import { KnownRecords } from './known-records.js'

describe('the record of a worker to which jobs are added', () => {
  const clock = fakeClock()
  let stored: () => ReturnType<typeof workerRecord> | Promise<never>
  const away = () => {
    throw workerErrors.WORKER_STORE_UNAVAILABLE('db', 'no answer')
  }
  const records = () => new KnownRecords(clock, async () => stored())

  it('is the one that was read last while its store is unavailable, for ten minutes', async () => {
    const known = records()
    stored = () => workerRecord('mail', { queueName: 'first' })
    await known.of('mail')
    stored = () => workerRecord('mail', { queueName: 'second' })
    await known.of('mail')
    stored = away
    clock.advance(600_000)
    assert.equal((await known.of('mail')).queueName, 'second')
    clock.advance(1)
    await assert.rejects(known.of('mail'), { code: 'WORKER_STORE_UNAVAILABLE' })
  })

  it('is the cached one while its store does not respond, so that a frozen store does not block the queue', async () => {
    const known = records()
    stored = () => workerRecord('mail')
    await known.of('mail')
    stored = () => new Promise<never>(() => undefined)
    assert.equal((await known.of('mail')).name, 'mail')
  })

  it('is not cached after the worker was removed, or when it was never read', async () => {
    const known = records()
    stored = away
    await assert.rejects(known.of('mail'), { code: 'WORKER_STORE_UNAVAILABLE' })
    stored = () => workerRecord('mail')
    await known.of('mail')
    stored = () => {
      throw workerErrors.WORKER_NOT_FOUND('mail')
    }
    await assert.rejects(known.of('mail'), { code: 'WORKER_NOT_FOUND' })
    stored = away
    await assert.rejects(known.of('mail'), { code: 'WORKER_STORE_UNAVAILABLE' })
  })
})
