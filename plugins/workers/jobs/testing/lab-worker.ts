import { EventEmitter, once } from 'node:events'
import type { HookSlots } from '../../hook-slots.js'
import { type Attempts, Consumer, type ConsumerParts, stalledCheckMs } from '../../node/consumer.js'
import { type StopLimits, StopWaits } from '../../node/stop-waits.js'
import type { WorkerRecord } from '../../record/record.js'
import type { FailedJobView, JobView } from '../types.js'

export interface LabWorkerParts extends ConsumerParts {
  readonly hooks: HookSlots
  readonly makeAttempts: (hooks: HookSlots) => Attempts
}

/** A worker as a node runs it, with promises for its hook calls. */
export class LabWorker {
  readonly #told = new EventEmitter()
  readonly #consumer: Promise<Consumer>
  readonly #stalledChecks: NodeJS.Timeout

  constructor(record: WorkerRecord, { makeAttempts, hooks, ...parts }: LabWorkerParts) {
    const { onJobStart, onJobComplete, onJobFailed } = hooks
    const tell = <A extends readonly unknown[]>(event: string, slot: { readonly call: (name: string, ...args: A) => void }) => ({
      active: true,
      call: (name: string, ...args: A) => {
        slot.call(name, ...args)
        this.#told.emit(event, ...args)
      },
    })
    const telling = {
      ...hooks,
      onJobStart: tell('start', onJobStart),
      onJobComplete: tell('completed', onJobComplete),
      onJobFailed: tell('failed', onJobFailed),
    } as HookSlots
    this.#consumer = Consumer.open(record, makeAttempts(telling), parts, {
      signal: new AbortController().signal,
      onBroken: () => undefined,
    })
    // A node does this for its workers.
    this.#stalledChecks = setInterval(() => void this.#checkStalled(), stalledCheckMs(parts.jobLockMs))
    this.#consumer.then((consumer) => consumer.resume()).catch((error: unknown) => this.#told.emit('error', error))
  }

  async started(): Promise<JobView> {
    return (await once(this.#told, 'start'))[0] as JobView
  }

  completed(): Promise<[job: JobView, result: unknown]> {
    return once(this.#told, 'completed') as Promise<[JobView, unknown]>
  }

  failed(): Promise<[job: FailedJobView, error: Error & { readonly code?: string }]> {
    return once(this.#told, 'failed') as Promise<[FailedJobView, Error]>
  }

  times(event: 'completed' | 'failed', n: number): Promise<void> {
    return new Promise((resolve) => {
      let left = n
      this.#told.on(event, () => {
        if (--left === 0) resolve()
      })
    })
  }

  async cancel(id: string, reason: string): Promise<boolean> {
    return (await this.#consumer).cancel(id, reason)
  }

  async #checkStalled(): Promise<void> {
    await (await this.#consumer).checkStalled()
  }

  async close(limits: StopLimits = { drainMs: 5_000, cancelMs: 5_000 }): Promise<void> {
    clearInterval(this.#stalledChecks)
    await (await this.#consumer).close(new StopWaits(limits))
  }
}
