import type { IQueueBackend, Job, JobsOptions } from 'bullmq'
import { loadBullmq } from './bullmq.js'

/** The key in the options of a job that was made ready again: when, in ms since 1970. BullMQ stores no such time. */
export const readyKey = 'readyAt'

/**
 * When a waiting job became ready, in ms since 1970: when it was added, its delay over; or when it was retried, its backoff over; or when the
 * last of its children had ended. A job that lost its node counts from its last start. Pure.
 */
export function readySince({ opts, processedOn, timestamp }: Pick<Job, 'opts' | 'processedOn' | 'timestamp'>): number {
  return Math.max(dueSince({ opts, timestamp }), processedOn ?? 0)
}

/** The same for a job that has been taken: its last start is that of the current attempt. */
export function dueSince({ opts, timestamp }: Pick<Job, 'opts' | 'timestamp'>): number {
  return (opts as { readonly [readyKey]?: number })[readyKey] ?? timestamp + (opts.delay ?? 0)
}

/** BullMQ's backend for one job, which also stores when the job will be ready again, within the same command. */
export function notingReady(backend: IQueueBackend, options: JobsOptions): IQueueBackend {
  const noted = <More extends { fieldsToUpdate?: Record<string, unknown> }>(more: More | undefined, at: number): More =>
    ({
      ...more,
      fieldsToUpdate: { ...more?.fieldsToUpdate, opts: storedOptions({ ...options, [readyKey]: at } as JobsOptions) },
    }) as unknown as More
  const moveToDelayed: IQueueBackend['moveToDelayed'] = (id, now, delay, token, more) =>
    backend.moveToDelayed(id, now, delay, token, noted(more, now + delay))
  const retryJob: IQueueBackend['retryJob'] = (id, lifo, token, more) => backend.retryJob(id, lifo, token, noted(more, Date.now()))
  return Object.create(backend, { moveToDelayed: { value: moveToDelayed }, retryJob: { value: retryJob } }) as IQueueBackend
}

/** Options in the form of Redis. The embedded store has a trigger instead, and ignores them. */
export function storedOptions({ telemetry, ...others }: JobsOptions): string {
  const short = loadBullmq().optsEncodeMap as Readonly<Record<string, string>>
  const named = Object.entries(others).map(([name, value]) => [short[name] ?? name, value])
  return JSON.stringify({ ...Object.fromEntries(named), tm: telemetry?.metadata, omc: telemetry?.omitContext })
}
