import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { WorkerChange } from 'zin/plugins/workers'
import { fakeClock } from 'zin/testing'
import type { AuditFacts } from './entry.js'
import { Recorder } from './recorder.js'

it('the audit log remembers at most 10,000 worker changes whose outcome is never reported, and forgets the oldest first', async () => {
  const put: AuditFacts[] = []
  let written = 0
  const recorder = new Recorder({
    writer: { write: async () => ++written, put: (facts) => void put.push(facts) },
    ops: { actor: () => undefined },
    origins: { current: () => undefined },
    digestKey: Buffer.alloc(32),
    clock: fakeClock(),
    inTransaction: () => false,
    records: () => true,
  })
  const change = (id: number) =>
    ({
      id,
      action: 'pause',
      worker: 'mails',
      before: null,
      after: null,
      actor: { kind: 'plugin', id: 'app', via: 'plugin' },
    }) as WorkerChange
  for (let id = 1; id <= 10_001; id++) await recorder.beforeWorkerChange(change(id))
  for (const id of [1, 2, 10_001]) recorder.afterWorkerChange(change(id))
  assert.deepEqual(
    put.map(({ ref }) => ref),
    [null, 2, 10_001],
  )
})
