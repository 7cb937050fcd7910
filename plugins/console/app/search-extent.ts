import { absolute } from './absolute.js'
import { count, exact } from './format.js'

/** How many jobs a search covered, as reported by the queue monitor. */
export interface Searched {
  readonly jobs: number
  readonly of: number
  readonly complete: boolean
  /** Declared fields whose index was searched; empty if jobs were scanned. */
  readonly fields: readonly string[]
  /** The index contains only jobs added since then; ISO 8601. */
  readonly since: string | null
  /** Whether errors were left out, because the caller may not see them. */
  readonly withoutErrors?: true
}

/** Describes the coverage: `searched the newest 2,000 of 1.2 M`. Pure. */
export function extentOf({ complete, fields, jobs, of, since, withoutErrors }: Searched): string {
  const errors = withoutErrors === true ? ', without their errors' : ''
  if (fields.length === 0)
    return `${complete ? `searched all ${exact(of)}` : `searched the newest ${exact(jobs)} of ${count(of)}`}${errors}`
  const part = complete ? '' : `, the newest ${exact(jobs)} of ${count(of)}`
  return `searched the index of ${fields.join(', ')}${part}${since === null ? '' : `, which covers jobs added since ${absolute(Date.parse(since))}`}`
}
