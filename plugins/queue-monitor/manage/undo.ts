import { mostDeleted } from 'zin/plugins/queues'
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

/** Returns how many of the matching jobs would be permanently deleted, with a sentence about it. Pure. */
export function foreseen(matching: number, restorable: number): { readonly final: number; readonly message: string } {
  const final = matching - restorable
  const minutes = `for ${undoMs / 60_000} minutes`
  if (final === 0) return { final, message: `This can be undone ${minutes}` }
  const undone = restorable === 0 ? 'None of them can be restored' : `${restorable} of them can be restored ${minutes}`
  return { final, message: `${undone}, ${final} will be permanently deleted: ${limitSaid}` }
}

const limitSaid = `a queue keeps at most ${limits} for undo`

const notAllowed = 'a plugin or your credentials do not allow it'

/** What is said about the jobs that match and were skipped. */
const skipped: Readonly<Record<BulkOperation['action'], string>> = {
  undo: 'were not restored: their ids or deduplication ids are used by other jobs',
  retry: `were skipped: a child that they need no longer exists, or ${notAllowed}`,
  'flow.retry': `were skipped: a child that they need no longer exists, or ${notAllowed}`,
  cancel: `were skipped: they are the next jobs of schedules, or ${notAllowed}`,
  purge: 'were skipped: a flow or schedule depends on them; use now=true to delete jobs of flows permanently',
  delete: 'were skipped',
}

/** Says why matching jobs were skipped. A permanent purge also deletes jobs of flows. */
const skippedIn = ({ action, undo }: BulkOperation): string => skipped[action === 'purge' && undo === null ? 'cancel' : action]

/** Returns a message about the result of an operation; undefined if the counts are sufficient. Pure. */
export function messageOf(operation: BulkOperation): string | undefined {
  const { action, changed, left, lost, related = 0, state, undo } = operation
  const parts: string[] = []
  if (state === 'completed' && changed === 0 && left === 0) parts.push(action === 'undo' ? 'No jobs could be restored' : 'No jobs matched')
  if (undo !== null && undo.jobs > 0) parts.push(`${undo.jobs} jobs can be restored until ${undo.until}: ${undo.request}`)
  if (undo !== null && undo.final > 0) parts.push(`${undo.final} were permanently deleted: ${limitSaid}`)
  if (related > 0) parts.push(`${related} more jobs of their flows were changed with them`)
  if (lost !== undefined && lost > 0) parts.push(`${lost} were not restored: they had been deleted permanently, ${limitSaid}`)
  const taken = left - (lost ?? 0)
  if (taken > 0) parts.push(`${taken} ${skippedIn(operation)}`)
  return parts.length === 0 ? undefined : parts.join('. ')
}
