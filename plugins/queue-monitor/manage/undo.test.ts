import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BulkOperation } from './operation.js'
import { checkUndo, foreseen, windowOf } from './undo.js'

const now = Date.parse('2026-01-01T00:00:00Z')
const purge = { id: 'p', action: 'purge', state: 'completed', undo: windowOf('p', now) } as BulkOperation

describe('the window of an undo', () => {
  it('ends ten minutes after the start of the operation', () => {
    assert.equal(checkUndo(purge, now + 599_999).until, '2026-01-01T00:10:00.000Z')
    assert.throws(() => checkUndo(purge, now + 600_000), { code: 'UNDO_EXPIRED', status: 410 })
  })

  it('is not open while the operation runs, or for an operation that deletes nothing', () => {
    assert.throws(() => checkUndo({ ...purge, state: 'running' }, now), { code: 'UNDO_NOT_POSSIBLE', message: /still running/ })
    assert.throws(() => checkUndo({ ...purge, undo: null }, now), { message: /deleted permanently/ })
    assert.throws(() => checkUndo({ ...purge, undo: null, action: 'retry' }, now), { message: /retry deletes nothing/ })
  })

  it('estimates what exceeds the limits of a queue in jobs or bytes', () => {
    assert.equal(foreseen(100, 10_000, { jobs: 100, bytes: 10_000 }).final, 0)
    assert.equal(foreseen(100, 10_000, { jobs: 60, bytes: 10_000 }).final, 40)
    const { final, message } = foreseen(100, 10_000, { jobs: 100, bytes: 2_500 })
    assert.deepEqual([final, /About 75 of them will be permanently deleted: .* 20000 jobs and 64 MiB/.test(message)], [75, true])
  })
})
