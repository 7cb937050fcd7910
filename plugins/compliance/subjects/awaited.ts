import type { Queues } from 'zin/plugins/queues'
import type { AwaitedJob, Erasure, Erasures, PendingJob } from '../store/erasures.js'

/** A running job that an erasure waits for. */
export interface WaitsFor {
  readonly queue: string
  readonly job: string
  /** When the erasure began to wait for it; ISO 8601. */
  readonly since: string
  /** When the attempt began; null if the job has ended meanwhile. ISO 8601. */
  readonly runningSince: string | null
  /** Whether its process no longer holds it, because it has ended or is blocked. */
  readonly lost: boolean
}

/** An erasure with what it waits for. */
export interface ShownErasure extends Erasure {
  /** The jobs that it waits for, longest first, at most {@link mostShown}. */
  readonly waitsFor: readonly WaitsFor[]
  /** What it waits for and what can be done; null if it does not wait. */
  readonly advice: string | null
}

const mostShown = 20

/** Adds to an erasure what it waits for. @param takenAfterMs time after which a job that is lost is erased. */
export async function shownErasure(
  erasure: Erasure,
  {
    erasures,
    queues,
    takenAfterMs,
  }: { readonly erasures: Pick<Erasures, 'pending'>; readonly queues: Queues; readonly takenAfterMs: number },
): Promise<ShownErasure> {
  if (erasure.state !== 'waiting') return { ...erasure, waitsFor: [], advice: null }
  const pending = [...(await erasures.pending(erasure.id))].sort((one, other) => one.at - other.at)
  const shown = pending.slice(0, mostShown)
  const lost = new Set<string>()
  for (const [queue, ids] of byQueue(shown)) for (const id of await queues.unlocked(queue, ids)) lost.add(`${queue}/${id}`)
  const waitsFor = await Promise.all(shown.map((one) => waitOf(one, queues, lost.has(`${one.queue}/${one.job}`))))
  return { ...erasure, waitsFor, advice: adviceOf(waitsFor, takenAfterMs) }
}

async function waitOf({ at, job, queue }: AwaitedJob, queues: Queues, lost: boolean): Promise<WaitsFor> {
  const found = await queues.job(queue, job)
  const started = found?.state === 'active' ? found.job.processedOn : undefined
  return { queue, job, since: new Date(at).toISOString(), runningSince: started ? new Date(started).toISOString() : null, lost }
}

function adviceOf(jobs: readonly WaitsFor[], takenAfterMs: number): string {
  const [running] = jobs.filter(({ lost, runningSince }) => !lost && runningSince !== null)
  const [lost] = jobs.filter((one) => one.lost)
  const texts: string[] = []
  if (running !== undefined)
    texts.push(
      `The job ${running.job} of the queue ${running.queue} has run since ${running.runningSince}, and is erased when it ends. To end it now, cancel it in the console, or with POST /api/jobs/${running.queue}:${encodeURIComponent(running.job)}/cancel`,
    )
  if (lost !== undefined)
    texts.push(
      `The process that ran the job ${lost.job} of the queue ${lost.queue} has ended or is blocked. The job is erased ${takenAfterMs / 1_000} s after this was noticed, with or without a worker`,
    )
  return texts.length === 0 ? 'The jobs have ended; what they have left behind is being erased' : texts.join('. ')
}

export function byQueue(jobs: readonly PendingJob[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const { job, queue } of jobs) found.set(queue, [...(found.get(queue) ?? []), job])
  return found
}

/** Says which jobs have been lost for some time, from looks at them. */
export class LostJobs {
  readonly #since = new Map<string, number>()
  readonly #ms: number

  constructor(ms: number) {
    this.#ms = ms
  }

  /** @param unlocked those of the jobs whose lock has ended. @param now on a monotonic clock, in ms. */
  lostOf(queue: string, ids: readonly string[], unlocked: readonly string[], now: number): readonly string[] {
    for (const id of ids) {
      const key = `${queue}/${id}`
      if (!unlocked.includes(id)) this.#since.delete(key)
      else if (!this.#since.has(key)) this.#since.set(key, now)
    }
    return unlocked.filter((id) => now - (this.#since.get(`${queue}/${id}`) ?? now) >= this.#ms)
  }
}
