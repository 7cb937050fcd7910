import type { JobDetails, ListedStatus } from 'zin/plugins/queue-monitor'
import { request } from '../data/api.js'
import { messageOf } from '../data/message.js'
import { can } from '../data/session.js'
import { exact, plural } from '../format.js'
import { path } from '../router.js'
import { ask } from '../ui/dialog.js'
import { toast } from '../ui/toast.js'
import { ended, type Operation, undo } from './operations.js'

interface Bulk {
  readonly action: 'retry' | 'cancel' | 'purge'
  readonly verb: string
  readonly consequence: string
  readonly tone?: 'bad'
}

const retry: Bulk = { action: 'retry', verb: 'Retry all', consequence: 'They run again, with all their attempts.' }
const cancel: Bulk = { action: 'cancel', verb: 'Cancel all', consequence: 'They are removed; running jobs are aborted.', tone: 'bad' }
const purge: Bulk = { action: 'purge', verb: 'Delete all', consequence: 'They are deleted with their data and logs.', tone: 'bad' }

const actions: Readonly<Record<ListedStatus, readonly Bulk[]>> = {
  failed: [retry, purge],
  waiting: [cancel],
  active: [cancel],
  delayed: [cancel],
  completed: [purge],
}

interface DryRun {
  readonly matching: number
  readonly sample: readonly JobDetails[]
  /** How many jobs match; for a purge, also how many of them can be restored. */
  readonly message: string
}

/** Above this number of jobs, the queue name must be typed. */
const mostUntyped = 100

/** Actions on all jobs of a queue in one state. Each counts the matching jobs and asks for confirmation first. */
export function BulkActions({ done, queue, status }: { readonly queue: string; readonly status: ListedStatus; readonly done: () => void }) {
  const choose = ({ action, consequence, tone, verb }: Bulk): void => {
    const url = path`/api/queue/${queue}/${action}`
    ask({
      title: `${verb.replace(/ all$/, '')} all ${status} jobs of ${queue}?`,
      text: consequence,
      verb,
      tone,
      dryRun: async () => {
        const { matching, message, sample } = await request<DryRun>('POST', url, { status, dryRun: true })
        const named = [...new Set(sample.map(({ name }) => name))].slice(0, 3).join(', ')
        return {
          none: matching === 0,
          typed: matching > mostUntyped ? queue : undefined,
          text: matching === 0 ? 'No jobs match' : `${plural(matching, 'job')}: ${named}${sample.length > 3 ? ', …' : ''}. ${message}`,
        }
      },
      run: async () => {
        const { operation } = await request<{ operation: Operation }>('POST', url, { status })
        void follow(operation, verb, done)
        return undefined
      },
    })
  }
  return (
    <>
      {actions[status]
        .filter(({ action }) => action !== 'purge' || can('admin'))
        .map((bulk) => (
          <button
            key={bulk.action}
            type="button"
            class={bulk.tone === 'bad' ? 'button small danger-quiet' : 'button small'}
            onClick={() => choose(bulk)}
          >
            {bulk.verb}…
          </button>
        ))}
    </>
  )
}

/** Waits for an operation to end and shows its result. */
async function follow(first: Operation, verb: string, done: () => void): Promise<void> {
  try {
    const { changed, id, state, total, undo: window } = await ended(first)
    const said = `${verb}: ${exact(changed)} of ${plural(total, 'job')}, ${state}`
    const canUndo = window !== null && window.jobs > 0
    toast(state === 'completed' ? 'ok' : 'bad', said, canUndo ? () => void undo([id], done) : undefined)
  } catch (error) {
    toast('bad', `${verb}: ${messageOf(error)}`)
  }
  done()
}
