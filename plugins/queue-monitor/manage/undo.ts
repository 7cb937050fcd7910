import { mostDeleted, type UndoRoom } from 'zin/plugins/queues'
import { monitorErrors } from '../errors.js'
import type { BulkOperation } from './operation.js'

/** How a delete can be undone. */
export interface UndoWindow {
  /** Deadline of the undo, ISO 8601. */
  readonly until: string
  /** The request that undoes it. */
  readonly request: string
  /** Deleted jobs that can be restored. */
  readonly jobs: number
  /** Permanently deleted jobs: the queue already kept its maximum of deleted jobs. */
  readonly final: number
}

/** How long a delete can be undone, in ms. */
export const undoMs = 600_000
/** Extra retention of deleted jobs, in ms, so that the first jobs of a long operation last until the window ends. */
export const undoSlackMs = 60_000

/** Returns the undo window of an operation that starts at `now`. Pure. */
export function windowOf(id: string, now: number): UndoWindow {
  return { until: new Date(now + undoMs).toISOString(), request: `POST /api/operations/${id}/undo`, jobs: 0, final: 0 }
}

/** Returns the undo window of an operation. Throws UNDO_NOT_POSSIBLE (409) or UNDO_EXPIRED (410) if it cannot be undone at `now`. Pure. */
export function checkUndo({ action, id, state, undo }: BulkOperation, now: number): UndoWindow {
  if (state === 'running') throw monitorErrors.UNDO_NOT_POSSIBLE(id, 'it is still running; cancel it first')
  if (undo === null) {
    const why = action === 'purge' || action === 'delete' ? 'it deleted permanently' : `${action} deletes nothing`
    throw monitorErrors.UNDO_NOT_POSSIBLE(id, why)
  }
  if (Date.parse(undo.until) <= now) throw monitorErrors.UNDO_EXPIRED(id, undo.until)
  return undo
}

const limits = `${mostDeleted.jobs} jobs and ${mostDeleted.bytes / 1024 ** 2} MiB`

/** Estimates how many of the matching jobs would be permanently deleted, with a sentence about it. Pure. */
export function foreseen(matching: number, bytes: number, room: UndoRoom): { readonly final: number; readonly message: string } {
  const mean = bytes / Math.max(1, matching)
  const fitting = Math.min(matching, room.jobs, mean > 0 ? Math.floor(room.bytes / mean) : matching)
  const final = matching - fitting
  if (final === 0) return { final, message: `This can be undone for ${undoMs / 60_000} minutes` }
  return { final, message: `About ${final} of them will be permanently deleted: a queue keeps at most ${limits} for undo` }
}

/** Returns a message about the result of an operation; undefined if the counts are sufficient. Pure. */
export function messageOf({ action, changed, left, state, undo }: BulkOperation): string | undefined {
  const parts: string[] = []
  if (state === 'completed' && changed === 0 && left === 0) parts.push(action === 'undo' ? 'No jobs could be restored' : 'No jobs matched')
  if (undo !== null && undo.jobs > 0) parts.push(`${undo.jobs} jobs can be restored until ${undo.until}: ${undo.request}`)
  if (undo !== null && undo.final > 0) parts.push(`${undo.final} were permanently deleted: a queue keeps at most ${limits} for undo`)
  if (left > 0 && action === 'undo') parts.push(`${left} were not restored: their ids or deduplication ids are used by other jobs`)
  else if (left > 0)
    parts.push(`${left} were skipped: a flow or schedule depends on them; use now=true to delete jobs of flows permanently`)
  return parts.length === 0 ? undefined : parts.join('. ')
}
