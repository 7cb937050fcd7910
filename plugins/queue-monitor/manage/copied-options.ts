import type { JobsOptions } from 'bullmq'

/** Options that belong to one job: its identity, its time, its place in a flow or a schedule, and what would make a copy the same job. */
const ofOneJob = [
  'jobId',
  'timestamp',
  'delay',
  'parent',
  'continueParentOnFailure',
  'failParentOnFailure',
  'ignoreDependencyOnFailure',
  'removeDependencyOnFailure',
  'repeat',
  'repeatJobKey',
  'prevMillis',
  'schedule',
  'deduplication',
  'debounce',
  'telemetry',
  // Of the plugin queues.
  'addition',
  'readyAt',
  // Of the plugin workers.
  'flowRoot',
] as const

/** The options of a job that a copy of it is added with: all that it was added with, also those of plugins, but for those of one job. */
export function copiedOptions(options: JobsOptions): JobsOptions {
  const own: ReadonlySet<string> = new Set(ofOneJob)
  return Object.fromEntries(Object.entries(options).filter(([name, value]) => value !== undefined && !own.has(name)))
}
