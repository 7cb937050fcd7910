import { mostDeleted, type UndoRoom } from 'zin/plugins/queues'
import { monitorErrors } from '../errors.js'
import type { BulkOperation } from './operation.js'

/** How a delete is undone. */
export interface UndoWindow {
  /** Until when, ISO 8601. */
  readonly until: string
  /** What is requested to undo it. */
  readonly request: string
  /** Deleted jobs that can be restored. */
  readonly jobs: number
  /** Deleted jobs that cannot: the queue already kept as many deleted jobs as it may. */
  readonly final: number
}

/** For how long a delete can be undone, ms. */
export const undoMs = 600_000
/** Jobs of a long operation can be restored for so much longer, so that the first ones last until the window ends, ms. */
export const undoSlackMs = 60_000

/** The window of an operation that begins at `now`. Pure. */
export function windowOf(id: string, now: number): UndoWindow {
  return { until: new Date(now + undoMs).toISOString(), request: `POST /api/operations/${id}/undo`, jobs: 0, final: 0 }
}

/** Throws UNDO_NOT_POSSIBLE (409) or UNDO_EXPIRED (410) for an operation that cannot be undone at `now`. Pure. */
export function checkUndo({ action, id, state, undo }: BulkOperation, now: number): UndoWindow {
  if (state === 'running') throw monitorErrors.UNDO_NOT_POSSIBLE(id, 'it is still running; cancel it first')
  if (undo === null) {
    const why = action === 'purge' || action === 'delete' ? 'it deleted for good' : `a ${action} deletes nothing`
    throw monitorErrors.UNDO_NOT_POSSIBLE(id, why)
  }
  if (Date.parse(undo.until) <= now) throw monitorErrors.UNDO_EXPIRED(id, undo.until)
  return undo
}

const limits = `${mostDeleted.jobs} jobs and ${mostDeleted.bytes / 1024 ** 2} MiB`

/** How many of the jobs that match would be deleted for good, and a sentence about it. Pure. */
export function foreseen(matching: number, bytes: number, room: UndoRoom): { readonly final: number; readonly message: string } {
  const mean = bytes / Math.max(1, matching)
  const fitting = Math.min(matching, room.jobs, mean > 0 ? Math.floor(room.bytes / mean) : matching)
  const final = matching - fitting
  if (final === 0) return { final, message: `The delete can be undone for ${undoMs / 60_000} minutes` }
  return { final, message: `About ${final} of them are deleted for good: a queue keeps at most ${limits} for an undo` }
}

/** What an operator has to know about an operation that has ended, or is running; undefined when its numbers say it all. Pure. */
export function messageOf({ action, changed, left, state, undo }: BulkOperation): string | undefined {
  const parts: string[] = []
  if (state === 'completed' && changed === 0 && left === 0) parts.push(action === 'undo' ? 'No job could be restored' : 'No job matched')
  if (undo !== null && undo.jobs > 0) parts.push(`${undo.jobs} jobs can be restored until ${undo.until}: ${undo.request}`)
  if (undo !== null && undo.final > 0) parts.push(`${undo.final} were deleted for good: a queue keeps at most ${limits} for an undo`)
  if (left > 0 && action === 'undo') parts.push(`${left} were not restored: other jobs have their ids or deduplication ids`)
  else if (left > 0) parts.push(`${left} were left: a flow or a schedule depends on them; now=true deletes jobs of flows for good`)
  return parts.length === 0 ? undefined : parts.join('. ')
}
