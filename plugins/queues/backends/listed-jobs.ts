import type { Job, Queue } from 'bullmq'
import { loadBullmq } from '../bullmq.js'

/** The fields of a job's hash in Redis without its data, result and stacks, which may be as large as a job. */
export const listedFields = [
  'name',
  'opts',
  'progress',
  'delay',
  'priority',
  'timestamp',
  'atm',
  'ats',
  'stc',
  'finishedOn',
  'processedOn',
  'rjk',
  'deid',
  'failedReason',
  'defa',
  'parentKey',
  'parent',
  'pb',
] as const

/** The same columns of the embedded store. */
export const listedColumns = `id, name, opts, progress, delay_ms, priority, added_at_ms, attempts_made, attempts_started, stalled_count,
  finished_at_ms, processed_at_ms, scheduler_id, dedup_id, failed_reason, deferred_failure, parent_key, parent_queue, parent_id, processed_by`

/** A row with {@link listedColumns}. */
export type ListedRow = Readonly<Record<string, unknown>> & { readonly id: string }

/** Returns a job without its data, result and stacks, from the values of {@link listedFields}; undefined if it no longer exists. */
export function jobOfFields(queue: Queue, id: string, values: readonly (string | null)[]): Job | undefined {
  const of = Object.fromEntries(listedFields.map((field, i) => [field, values[i] ?? undefined])) as Partial<
    Record<(typeof listedFields)[number], string>
  >
  if (of.name === undefined || of.timestamp === undefined) return undefined
  return listed(queue, id, {
    name: of.name,
    opts: loadBullmq().Job.optsFromJSON(of.opts),
    progress: JSON.parse(of.progress ?? '0'),
    delay: of.delay,
    priority: of.priority,
    timestamp: of.timestamp,
    attemptsMade: of.atm,
    attemptsStarted: of.ats,
    stalledCounter: of.stc,
    finishedOn: of.finishedOn,
    processedOn: of.processedOn,
    repeatJobKey: of.rjk,
    deduplicationId: of.deid,
    failedReason: of.failedReason,
    deferredFailure: of.defa,
    parentKey: of.parentKey,
    parent: of.parent === undefined ? undefined : JSON.parse(of.parent),
    processedBy: of.pb,
  })
}

/** The same from a row of the embedded store. */
export function jobOfRow(queue: Queue, row: ListedRow): Job {
  const { id, parent_id: parentId, parent_queue: queueKey } = row
  return listed(queue, id, {
    name: row.name,
    opts: row.opts ?? {},
    progress: row.progress ?? 0,
    delay: row.delay_ms,
    priority: row.priority,
    timestamp: row.added_at_ms,
    attemptsMade: row.attempts_made,
    attemptsStarted: row.attempts_started,
    stalledCounter: row.stalled_count,
    finishedOn: row.finished_at_ms,
    processedOn: row.processed_at_ms,
    repeatJobKey: row.scheduler_id,
    deduplicationId: row.dedup_id,
    failedReason: row.failed_reason,
    deferredFailure: row.deferred_failure,
    parentKey: row.parent_key,
    parent: parentId === null ? undefined : { id: parentId, queueKey: queueKey ?? '' },
    processedBy: row.processed_by,
  })
}

const numbers: ReadonlySet<string> = new Set([
  'delay',
  'priority',
  'timestamp',
  'attemptsMade',
  'attemptsStarted',
  'stalledCounter',
  'finishedOn',
  'processedOn',
])

/** @param values numbers may be text, as the stores return them. */
function listed(queue: Queue, id: string, values: Readonly<Record<string, unknown>>): Job {
  const known = Object.entries(values).filter(([, value]) => value !== undefined && value !== null)
  const json = Object.fromEntries(known.map(([name, value]) => [name, numbers.has(name) ? Number(value) : value]))
  const { fromJSON } = loadBullmq().Job
  const job = loadBullmq().Job.fromJSON(queue, { id, data: '{}', ...json } as unknown as Parameters<typeof fromJSON>[1], id)
  job.data = undefined
  return job
}
