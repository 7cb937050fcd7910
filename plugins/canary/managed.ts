import type { Manage } from 'zin'
import type { Canaries, CanaryOptions } from './contract.js'

/** Wraps the service so that its actions are management actions, which plugins can refuse and record. */
export function managedCanaries(canaries: Canaries, manage: Manage): Canaries {
  const run = <T>(verb: string, worker: string, { actor, reason }: CanaryOptions & { readonly reason?: string }, work: () => Promise<T>) =>
    manage(
      {
        action: `canary.${verb}`,
        target: `worker:${worker}`,
        ...(actor === undefined ? {} : { actor }),
        ...(reason === undefined ? {} : { reason }),
      },
      work,
    )
  return {
    start: (worker, canary, options = {}) => run('start', worker, options, () => canaries.start(worker, canary, options)),
    pause: (worker, options = {}) => run('pause', worker, options, () => canaries.pause(worker, options)),
    resume: (worker, options = {}) => run('resume', worker, options, () => canaries.resume(worker, options)),
    promote: (worker, options = {}) => run('promote', worker, options, () => canaries.promote(worker, options)),
    complete: (worker, options = {}) => run('complete', worker, options, () => canaries.complete(worker, options)),
    rollback: (worker, options = {}) => run('rollback', worker, options, () => canaries.rollback(worker, options)),
    replay: (worker, options = {}) => run('replay', worker, options, () => canaries.replay(worker, options)),
    status: (worker) => canaries.status(worker),
    history: (worker) => canaries.history(worker),
  }
}
