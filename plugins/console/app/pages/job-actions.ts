import type { ListedStatus } from 'zin/plugins/queue-monitor'

/** An action on a job. */
export interface JobVerb {
  readonly verb: 'retry' | 'cancel' | 'promote' | 'delete'
  readonly title: string
  /** Past participle, used after a number of jobs: `3 jobs retried`. */
  readonly past: string
  readonly method: 'POST' | 'DELETE'
}

const retry: JobVerb = { verb: 'retry', title: 'Retry', past: 'retried', method: 'POST' }
const cancel: JobVerb = { verb: 'cancel', title: 'Cancel', past: 'cancelled', method: 'POST' }
const promote: JobVerb = { verb: 'promote', title: 'Run now', past: 'promoted', method: 'POST' }
const remove: JobVerb = { verb: 'delete', title: 'Delete', past: 'deleted', method: 'DELETE' }

const verbs: Readonly<Record<ListedStatus, readonly JobVerb[]>> = {
  failed: [retry, remove],
  waiting: [cancel],
  active: [cancel],
  delayed: [promote, cancel],
  completed: [remove],
}

/** Returns the actions available for a job in a state. */
export function verbsOf(state: string): readonly JobVerb[] {
  return Object.hasOwn(verbs, state) ? verbs[state as ListedStatus] : [cancel]
}
