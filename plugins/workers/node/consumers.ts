import type { Attempt } from './attempt.js'
import type { Consumer } from './consumer.js'
import { FetchWatch } from './fetch-watch.js'
import type { StopWaits } from './stop-waits.js'

/** The consumer of a worker that takes its jobs, and those that the watchdog has replaced, until their jobs have ended. */
export class Consumers {
  readonly #replaced = new Set<Consumer>()
  #current: Consumer | undefined
  #watch = new FetchWatch()

  /** Undefined while the worker is stopped. */
  get current(): Consumer | undefined {
    return this.#current
  }

  set current(consumer: Consumer | undefined) {
    this.#current = consumer
    this.#watch = new FetchWatch()
  }

  /** Ids of the jobs that run. */
  get running(): readonly string[] {
    return this.#all.flatMap(({ running }) => running)
  }

  get busy(): number {
    return (this.#current?.busy ?? 0) + this.#replacedBusy
  }

  crash(error: Error, culprit: Attempt): void {
    for (const consumer of this.#all) consumer.crash(error, culprit)
  }

  cancel(queue: string, job: string, reason: string): boolean {
    return this.#all.some((consumer) => consumer.queue === queue && consumer.cancel(job, reason))
  }

  /** Whether the queue has to be asked now whether jobs wait. @param at a monotonic time in ms. @param isStuck whether it was found stuck. */
  asks(at: number, isStuck: boolean): boolean {
    return this.#current !== undefined && this.#watch.asks(this.#current.fetching, at, isStuck)
  }

  /** For how long jobs have waited in vain, in ms, if that is too long. @param waiting number of jobs that wait now. */
  waitedInVain(waiting: number, at: number): number | undefined {
    return this.#current && this.#watch.answer(waiting, this.#current.fetching, at)
  }

  /** Takes jobs with another consumer; running ones continue. If it cannot be opened, jobs have to wait in vain once more before the next attempt. */
  async replace(open: () => Promise<Consumer>, concurrency: number): Promise<void> {
    const stuck = this.#current
    this.#watch = new FetchWatch()
    const next = await open()
    this.current = next
    if (stuck !== undefined) {
      this.#replaced.add(stuck)
      await stuck.pause()
    }
    await this.fit(concurrency)
    await next.resume()
  }

  /** Adapts to the concurrency of the worker, of which jobs of replaced consumers use a part. */
  async fit(concurrency: number): Promise<void> {
    await this.#current?.resize(Math.max(1, concurrency - this.#replacedBusy))
  }

  /** Whether a replaced consumer can be closed. */
  get hasDrained(): boolean {
    return [...this.#replaced].some(({ busy }) => busy === 0)
  }

  async closeDrained(waits: StopWaits, concurrency: number): Promise<void> {
    for (const consumer of this.#replaced) {
      if (consumer.busy > 0) continue
      await consumer.close(waits)
      this.#replaced.delete(consumer)
    }
    await this.fit(concurrency)
  }

  async close(waits: StopWaits): Promise<void> {
    await Promise.all(this.#all.map((consumer) => consumer.close(waits)))
    this.current = undefined
    this.#replaced.clear()
  }

  get #replacedBusy(): number {
    let sum = 0
    for (const { busy } of this.#replaced) sum += busy
    return sum
  }

  get #all(): readonly Consumer[] {
    return [...this.#replaced, ...(this.#current === undefined ? [] : [this.#current])]
  }
}
