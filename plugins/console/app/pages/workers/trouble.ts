// What is wrong with a worker, in words. Pure.
import type { QueueEntry } from 'zin/plugins/queue-monitor'
import type { WorkerState, WorkerView } from 'zin/plugins/workers'
import { duration, percent } from '../../format.js'
import type { Tone } from '../../ui/badge.js'

export interface Trouble {
  /** 0: nothing needs a person; higher is worse. */
  readonly rank: 0 | 1 | 2 | 3
  readonly text: string
}

/** A worker may fail this share of its attempts, and jobs may wait so long; as for its health score. */
const toleratedFailures = 0.05
const patienceMs = 60_000
/** A share of fewer attempts proves little. */
const fewAttempts = 5

export function troubleOf(worker: WorkerView, queue: QueueEntry | undefined): Trouble {
  const { desired, generation, lastError, observedGeneration, paused, rollout, state } = worker
  if (state === 'FAILED') return { rank: 3, text: lastError ?? 'It has failed; restart it to try again' }
  if (desired === 'running' && state === 'unknown') return { rank: 3, text: 'It should run, and no living node runs it' }
  if (rollout?.state === 'halted')
    return { rank: 2, text: `Rollout of ${rollout.version} halted at ${rollout.node ?? 'a node'}: ${rollout.error ?? ''}` }
  if (lastError !== undefined) return { rank: 2, text: lastError }
  const failing = queue !== undefined && queue.attempts >= fewAttempts && surely(queue.failureRate ?? 0, queue.attempts) > toleratedFailures
  if (failing) return { rank: 2, text: `${percent(queue.failureRate ?? 0)} of the attempts of the last hour failed` }
  const waited = queue?.oldestWaitingMs ?? 0
  if (desired === 'running' && !paused && waited > patienceMs) return { rank: 1, text: `Oldest job waits ${duration(waited)}` }
  if (rollout !== undefined)
    return { rank: 0, text: `${rollout.version} runs on ${rollout.taken} of ${rollout.of} ${rollout.of === 1 ? 'node' : 'nodes'}` }
  if (desired === 'running' && observedGeneration < generation) return { rank: 0, text: 'The last change is being applied' }
  return { rank: 0, text: '' }
}

/** The share that is at least the true one's lower bound, by Wilson at 95 %: 2 of 10 failed attempts say less than 200 of 1,000. */
function surely(share: number, of: number): number {
  const z = 1.96
  const middle = share + (z * z) / (2 * of)
  return (middle - z * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of))) / (1 + (z * z) / of)
}

const tones: Readonly<Record<WorkerState, Tone>> = {
  running: 'ok',
  paused: 'warn',
  starting: 'info',
  stopping: 'info',
  stopped: 'neutral',
  FAILED: 'bad',
  unknown: 'bad',
}

/** A worker that nobody wants to run may be unknown without harm. */
export function stateTone(state: WorkerState, desired: WorkerView['desired'] = 'running'): Tone {
  return state === 'unknown' && desired === 'stopped' ? 'neutral' : tones[state]
}
