import type { Logger } from 'zin'
import { type AutoStartSettings, autoStart } from '../auto-start.js'
import type { StoreDirectory } from '../store/directory.js'
import type { StoredWorker } from '../store/store.js'
import type { WorkerNode } from './worker-node.js'

/** Starts what should start when a process begins; others wait for their next change. Ends when all were tried. */
export async function bootWorkers(
  workers: readonly StoredWorker[],
  node: WorkerNode,
  settings: AutoStartSettings,
  wake: (worker: StoredWorker) => Promise<StoredWorker>,
  log: Logger,
): Promise<void> {
  const starts = workers.map(async (worker) => {
    const { start, reason } = autoStart(settings, worker.record, worker.desired)
    if (!start) {
      log.debug({ worker: worker.record.name }, `worker "${worker.record.name}" does not start at boot: ${reason}`)
      return node.hold(worker)
    }
    await node.reconcile(worker.desired.state === 'running' ? worker : await wake(worker))
  })
  for (const result of await Promise.allSettled(starts)) {
    if (result.status === 'rejected') log.error({ err: result.reason }, 'a worker was not started at boot')
  }
}

/** Applies what other processes changed in the shared stores since the last time. */
export async function syncWorkers(directory: StoreDirectory, node: WorkerNode): Promise<void> {
  // Names are taken before the stores are read: a worker created in between is not mistaken for a removed one.
  const known = node.names()
  const stored = await directory.all()
  const names = new Set(stored.map((worker) => worker.record.name))
  await Promise.all([
    ...stored.map((worker) => node.reconcile(worker)),
    ...known.filter((name) => !names.has(name)).map((name) => node.forget(name)),
  ])
}
