import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AttemptEnd } from 'zin/plugins/workers'
import { fakeClock, memoryLogger } from 'zin/testing'
import { AttemptHistory, type AttemptHistoryOptions } from './attempts.js'

for (const backend of ['redis', 'embedded'] as const) {
  it(`attempts of a job that is purged before they are written are not kept on ${backend}; those of a deleted one are, and all are found`, async () => {
    const written: string[] = []
    const stored = new Map<string, string>()
    const states = new Map([
      ['kept', 'failed'],
      ['purged', 'unknown'],
      ['deleted', 'unknown'],
    ])
    const options = {
      kv: {
        set: async (key: string, value: string) => {
          written.push(key)
          stored.set(key, value)
        },
        delete: async (key: string) => void stored.delete(key),
        getMany: async (keys: readonly string[]) => keys.map((key) => stored.get(key) ?? null),
      },
      queues: {
        backend,
        storedText: async (_queue: string, text: string) => text,
        queue: () => ({ getJobState: async (id: string) => states.get(id) }),
        names: async () => ['mails', 'orders'],
        deletedJob: async (_queue: string, id: string) => (id === 'deleted' ? {} : undefined),
      },
      clock: fakeClock(),
      log: memoryLogger(),
      keptMs: 60_000,
    } as unknown as AttemptHistoryOptions
    const [runs, purges] = [new AttemptHistory(options), new AttemptHistory(options)]
    for (const id of states.keys()) {
      const end = {
        attempt: 1,
        outcome: 'failed',
        error: new Error(`no mailbox for ${id}`),
        job: { queue: 'mails', id },
        runMs: 1,
        waitMs: 1,
      }
      runs.ended(end as unknown as AttemptEnd)
    }
    const error = new Error('child mails:kept failed: child mails:purged failed: no mailbox for purged')
    const above = { attempt: 1, outcome: 'failed', error, job: { queue: 'orders', id: 'kept' }, runMs: 1, waitMs: 1 }
    runs.ended(above as unknown as AttemptEnd)
    await purges.forget('mails', [{ id: 'purged', attempts: 1 }])
    await runs.flush()
    assert.deepEqual([...stored.keys()].sort(), ['monitor:attempt:mails:deleted:1', 'monitor:attempt:mails:kept:1'])
    // What is deleted may stay in the file of an embedded store.
    if (backend === 'embedded') assert.equal(written.length, 2)

    const end = { outcome: 'failed', error: new Error('no mailbox'), job: { queue: 'mails', id: 'kept' }, runMs: 1, waitMs: 1 }
    for (let attempt = 2; attempt <= 120; attempt++) runs.ended({ ...end, attempt } as unknown as AttemptEnd)
    await runs.flush()
    assert.equal(stored.size, 121)
    // Its retention has removed it, so its number of attempts is unknown.
    await purges.forget('mails', [{ id: 'kept', attempts: undefined }])
    assert.deepEqual([...stored.keys()], ['monitor:attempt:mails:deleted:1'])
  })
}
