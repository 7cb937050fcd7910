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

  it('tells before how many jobs it restores, and how many exceed the limits of a queue', () => {
    assert.deepEqual(foreseen(100, 100), { final: 0, message: 'This can be undone for 10 minutes' })
    const { final, message } = foreseen(100, 25)
    assert.equal(final, 75)
    assert.match(message, /^25 of them can be restored for 10 minutes, 75 will be permanently deleted: .* 20000 jobs and 64 MiB/)
    assert.match(foreseen(100, 0).message, /^None of them can be restored, 100 will be permanently deleted/)
  })
})
