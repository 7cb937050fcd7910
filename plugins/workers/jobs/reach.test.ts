import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ZinError } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { reachOf } from './reach.js'

describe('a queue store that is away', () => {
  const queues = { isUnavailable: (error: unknown) => error instanceof Error && error.message === 'away' } as Queues
  const reach = reachOf(queues, 20)

  it('is 503 when it says so, and when it does not answer in time', async () => {
    const code = { code: 'QUEUE_CONNECTION_ERROR', status: 503 }
    await assert.rejects(
      reach('The job was not added', () => Promise.reject(new Error('away'))),
      { ...code, message: /^The job was not added: .*away/ },
    )
    await assert.rejects(
      reach('x', () => new Promise(() => undefined)),
      { ...code, message: /no answer within 20 ms/ },
    )
  })

  it('leaves other errors as they are', async () => {
    const error = new ZinError('JOB_NOT_FOUND', 'gone', { status: 404 })
    await assert.rejects(
      reach('x', () => Promise.reject(error)),
      error,
    )
  })
})
