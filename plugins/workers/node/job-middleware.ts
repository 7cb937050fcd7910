import type { Job } from 'bullmq'
import { delayRequest } from '../jobs/deferral.js'
import type { Attempt } from './attempt.js'
import { promiseOf } from './promise-of.js'
import { PutBack } from './put-back.js'

/** The attempt that a job middleware wraps. */
export interface JobContext {
  readonly worker: string
  readonly version: string
  /** Id of this node. */
  readonly node: string
  /** The job, with its original data. */
  // biome-ignore lint/suspicious/noExplicitAny: the payload is the app's
  readonly job: Job<any>
  /** The token of the job's lock. */
  readonly token: string | undefined
  /** Aborted when the job is cancelled, times out or loses its lock, and when its worker stops and the drain time is over. */
  readonly signal: AbortSignal
  /** From 1. */
  readonly attempt: number
  /**
   * Delays the job by `ms` (0 to one year) without using up an attempt: `return context.delay(5000)`. Call it only before `next()`.
   * Rejects with an error for which {@link isDeferral} is true, which outer middlewares receive.
   */
  delay(ms: number): Promise<never>
  /**
   * Aborts `signal` and, if the attempt then ends with an error, returns the job to its queue without using up an attempt. A job that
   * completes anyway stays completed. Has no effect on an attempt that was already aborted.
   *
   * @example
   * workers.useJobMiddleware(
   *   ({ putBack }, next) =>
   *     next().catch((error: unknown) => {
   *       putBack('the mail server is down')
   *       throw error
   *     }),
   *   { plugin: 'mail-guard' },
   * )
   */
  putBack(reason: string): void
}

/**
 * Wraps every attempt of every worker on this node, including isolated ones. The return value becomes the result of the job;
 * `undefined` keeps the result of `next()`. A thrown error fails the attempt.
 */
export type JobMiddleware = (context: JobContext, next: () => Promise<unknown>) => unknown

export interface JobMiddlewareOptions {
  /** The plugin that adds it. The middleware of the first plugin in boot order is outermost. */
  readonly plugin: string
  /** `pre`: outside all others; `post`: inside all others. Default: by the order of the plugins. */
  readonly order?: 'pre' | 'post'
}

interface Entry {
  readonly middleware: JobMiddleware
  readonly options: JobMiddlewareOptions
}

const tiers = { pre: 0, post: 2 } as const

/** The job middlewares of this node, in order. */
export class JobMiddlewares {
  readonly #rank: (plugin: string) => number
  #entries: readonly Entry[] = []
  /** Replaced rather than modified, so that a running attempt keeps the chain that it started with. */
  #chain: readonly JobMiddleware[] = []

  /** @param rank returns the position of a plugin; lower is further outside. */
  constructor(rank: (plugin: string) => number) {
    this.#rank = rank
  }

  get chain(): readonly JobMiddleware[] {
    return this.#chain
  }

  add(middleware: JobMiddleware, options: JobMiddlewareOptions): () => void {
    const entry: Entry = { middleware, options }
    this.#set([...this.#entries, entry])
    return () => this.#set(this.#entries.filter((one) => one !== entry))
  }

  #set(entries: readonly Entry[]): void {
    const tier = ({ options: { order } }: Entry): number => (order === undefined ? 1 : tiers[order])
    // The sort is stable: middlewares of one plugin stay in the order of registration.
    this.#entries = [...entries].sort((a, b) => tier(a) - tier(b) || this.#rank(a.options.plugin) - this.#rank(b.options.plugin))
    this.#chain = this.#entries.map(({ middleware }) => middleware)
  }
}

/** Where an attempt runs. */
export type AttemptPlace = Pick<JobContext, 'worker' | 'node'>

/** Runs the work of an attempt inside the middlewares. One that only returns `next()` creates no further promise. */
export function runInside(chain: readonly JobMiddleware[], attempt: Attempt, place: AttemptPlace, work: () => unknown): unknown {
  const context = new AttemptContext(attempt, place)
  let entered = -1
  const ignore = (): void => undefined
  const enter = (index: number): unknown => {
    if (index <= entered) throw new Error('a job middleware called next() more than once')
    entered = index
    const middleware = chain[index]
    if (middleware === undefined) {
      context.hasBegun = true
      return work()
    }
    let inner: Promise<unknown> | undefined
    let returned = false
    const next = (): Promise<unknown> => {
      inner = promiseOf(() => enter(index + 1))
      if (returned) inner.catch(ignore)
      return inner
    }
    // The middleware decides how the attempt ends, even if it does not await `next()`: a rejection of `next()` is always handled.
    let given: unknown
    try {
      given = middleware(context, next)
    } catch (error) {
      inner?.catch(ignore)
      throw error
    }
    returned = true
    if (given === inner) return inner
    inner?.catch(ignore)
    return Promise.resolve(given).then((result) => (result === undefined ? inner : result))
  }
  return enter(0)
}

class AttemptContext implements JobContext {
  readonly worker: string
  readonly version: string
  readonly node: string
  readonly job: Job
  readonly token: string | undefined
  readonly attempt: number
  /** Whether the attempt has reached its processor. */
  hasBegun = false
  readonly #attempt: Attempt

  constructor(attempt: Attempt, { node, worker }: AttemptPlace) {
    this.worker = worker
    this.version = attempt.version
    this.node = node
    this.job = attempt.job
    this.token = attempt.token
    this.attempt = attempt.number
    this.#attempt = attempt
  }

  /** Created on first access. */
  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get putBack(): JobContext['putBack'] {
    return (reason) => this.#attempt.abort(new PutBack(reason))
  }

  /** A closure, so that it can be destructured from the context. */
  get delay(): JobContext['delay'] {
    return async (ms) => {
      if (this.hasBegun) throw new Error('a job middleware called delay() after the processor had begun')
      throw delayRequest(ms)
    }
  }
}
