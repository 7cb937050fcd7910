import { absolute, count, exact } from './format.js'

/** How far a search for jobs looked, as the monitor says it. */
export interface Searched {
  readonly jobs: number
  readonly of: number
  readonly complete: boolean
  /** Declared fields whose index was asked; none: jobs were read. */
  readonly fields: readonly string[]
  /** The index lacks jobs that were added before, ISO 8601. */
  readonly since: string | null
}

/** In words: `searched the newest 2,000 of 1.2 M`. Pure. */
export function extentOf({ complete, fields, jobs, of, since }: Searched): string {
  if (fields.length === 0) return complete ? `searched all ${exact(of)}` : `searched the newest ${exact(jobs)} of ${count(of)}`
  const part = complete ? '' : `, the newest ${exact(jobs)} of ${count(of)}`
  return `searched the index of ${fields.join(', ')}${part}${since === null ? '' : `, which has jobs added since ${absolute(Date.parse(since))}`}`
}
