import { flowRootOf } from 'zin/plugins/workers'

/** The parts of a job that determine its sticky key. */
export interface StickyJob {
  readonly id?: string | undefined
  readonly opts: object
  readonly data?: unknown
}

/**
 * Returns the sticky key of a job; jobs with the same key go to the same version. The key is the value at `stickyBy` in the data, else the id
 * of the flow, else the deduplication id, else the job id.
 */
export function stickyKey(job: StickyJob, stickyBy?: string): string {
  const value = stickyBy === undefined ? undefined : valueAt(job.data, stickyBy)
  if (value !== undefined) return value
  const { deduplication } = job.opts as { readonly deduplication?: { readonly id?: unknown } }
  const unique = typeof deduplication?.id === 'string' ? deduplication.id : undefined
  return flowRootOf(job) ?? unique ?? job.id ?? ''
}

function valueAt(data: unknown, path: string): string | undefined {
  let value = data
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[key]
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}
