import type { WorkerView } from 'zin/plugins/workers'
import { request } from '../../data/api.js'
import { can } from '../../data/session.js'
import { path } from '../../router.js'
import { ActionButton } from '../../ui/dialog.js'

/** How long a change may take until its button says that it is under way, ms. */
export const waiting = { wait: '5000' } as const

/** Asks a worker to do something; returns what came of it in words. `query`: of verbs that do not wait, their own. */
export async function act(
  worker: string,
  verb: string,
  body?: unknown,
  query: Readonly<Record<string, string>> = waiting,
): Promise<string> {
  const search = new URLSearchParams(query)
  const { message } = await request<{ message: string }>('POST', `${path`/api/workers/${worker}`}/${verb}?${search}`, body)
  return message
}

/** What can be done with the worker as it is. `done` is called after each. */
export function Verbs({ done, worker }: { readonly worker: WorkerView; readonly done: () => void }) {
  if (!can('operate')) return null
  const { desired, name, paused } = worker
  const run = (verb: string) => () => act(name, verb).finally(done)
  const stopped = desired === 'stopped'
  return (
    <>
      {stopped && <ActionButton label="Start" run={run('start')} />}
      {!stopped && paused && <ActionButton label="Resume" run={run('resume')} />}
      {!stopped && !paused && (
        <ActionButton
          label="Pause"
          confirm={{
            title: `Pause ${name}?`,
            text: 'It takes no more jobs, on any node. Those that run go on, and new ones wait in its queue.',
          }}
          run={run('pause')}
        />
      )}
      {!stopped && (
        <ActionButton
          label="Restart"
          confirm={{
            title: `Restart ${name}?`,
            text: 'Every node lets its running jobs end, then starts the worker anew. Jobs wait in its queue meanwhile.',
          }}
          run={run('restart')}
        />
      )}
      {!stopped && (
        <ActionButton
          label="Stop"
          tone="bad"
          confirm={{
            title: `Stop ${name}?`,
            text: 'Running jobs end, then no node runs it, also after a restart of the app. Its jobs wait until somebody starts it.',
            typed: name,
          }}
          run={run('stop')}
        />
      )}
    </>
  )
}
