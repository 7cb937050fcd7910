// Describes what is wrong with a worker. Pure.
import type { QueueEntry } from 'zin/plugins/queue-monitor'
import { failsTooOften } from 'zin/plugins/statistics'
import type { WorkerState, WorkerView } from 'zin/plugins/workers'
import { duration, percent } from '../../format.js'
import type { Tone } from '../../ui/badge.js'

export interface Trouble {
  /** 0: nothing needs attention; higher is worse. */
  readonly rank: 0 | 1 | 2 | 3
  readonly text: string
}

/** Tolerated age of the oldest waiting job, in ms; the same as for the health score of a worker. */
const patienceMs = 60_000

export function troubleOf(worker: WorkerView, queue: QueueEntry | undefined): Trouble {
  const { desired, generation, lastError, observedGeneration, paused, rollout, state } = worker
  if (state === 'FAILED') return { rank: 3, text: lastError ?? 'It has failed; restart it to try again' }
  if (desired === 'running' && state === 'unknown') return { rank: 3, text: 'It should be running, but no live node runs it' }
  if (rollout?.state === 'halted')
    return { rank: 2, text: `Rollout of ${rollout.version} halted at ${rollout.node ?? 'a node'}: ${rollout.error ?? ''}` }
  if (lastError !== undefined) return { rank: 2, text: lastError }
  if (queue !== undefined && failsTooOften(queue.failureRate ?? 0, queue.attempts))
    return { rank: 2, text: `${percent(queue.failureRate ?? 0)} of attempts failed in the last hour` }
  const waited = queue?.oldestWaitingMs ?? 0
  if (desired === 'running' && !paused && waited > patienceMs) return { rank: 1, text: `Oldest job has waited ${duration(waited)}` }
  if (rollout !== undefined)
    return { rank: 0, text: `${rollout.version} runs on ${rollout.taken} of ${rollout.of} ${rollout.of === 1 ? 'node' : 'nodes'}` }
  if (desired === 'running' && observedGeneration < generation) return { rank: 0, text: 'The last change is being applied' }
  return { rank: 0, text: '' }
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

/** The tone of a state. For a worker that should be stopped, `unknown` is not a problem. */
export function stateTone(state: WorkerState, desired: WorkerView['desired'] = 'running'): Tone {
  return state === 'unknown' && desired === 'stopped' ? 'neutral' : tones[state]
}
