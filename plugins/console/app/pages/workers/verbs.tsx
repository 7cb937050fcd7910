import type { WorkerView } from 'zin/plugins/workers'
import { request } from '../../data/api.js'
import { can } from '../../data/session.js'
import { path } from '../../router.js'
import { ActionButton } from '../../ui/dialog.js'

/** How long a request waits for a change to be applied, in ms; after that, the change is reported as in progress. */
export const waiting = { wait: '5000' } as const

/** Sends an action to a worker and returns the message of the response. `query`: for actions that do not wait. */
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

/** The actions available for the worker. `done` is called after each. */
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
            text: 'It takes no new jobs on any node. Running jobs finish, and new jobs wait in its queue.',
          }}
          run={run('pause')}
        />
      )}
      {!stopped && (
        <ActionButton
          label="Restart"
          confirm={{
            title: `Restart ${name}?`,
            text: 'Each node finishes its running jobs, then restarts the worker. Meanwhile, jobs wait in its queue.',
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
            text: 'Running jobs finish, then it stops on all nodes and stays stopped after a restart of the app. Its jobs wait until it is started.',
            typed: name,
          }}
          run={run('stop')}
        />
      )}
    </>
  )
}
