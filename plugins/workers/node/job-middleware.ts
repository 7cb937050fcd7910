import type { Job } from 'bullmq'
import { delayRequest } from '../jobs/deferral.js'
import type { Attempt } from './attempt.js'
import { promiseOf } from './promise-of.js'
import { PutBack } from './put-back.js'

/** What a job middleware knows of the attempt that it wraps. */
export interface JobContext {
  readonly worker: string
  readonly version: string
  /** Names this process among all of the app. */
  readonly node: string
  /** With its data as they were added. */
  // biome-ignore lint/suspicious/noExplicitAny: the payload is the app's
  readonly job: Job<any>
  /** The token of the job's lock. */
  readonly token: string | undefined
  /** Aborted when the job is cancelled, timed out, has lost its lock, or its worker stops for good. */
  readonly signal: AbortSignal
  /** From 1. */
  readonly attempt: number
  /**
   * Puts the job off for `ms` (0 to one year) without using up an attempt: `return context.delay(5000)`. Only before `next()`.
   * It rejects with an error that {@link isDeferral} knows, which the middlewares outside of this one see.
   */
  delay(ms: number): Promise<never>
  /**
   * Aborts `signal`, and gives the job back to its queue without using up an attempt when the attempt then ends with an error. What
   * completes all the same is complete. Not for an attempt that was aborted before.
   *
   * @example
   * workers.useJobMiddleware(
   *   ({ putBack }, next) =>
   *     next().catch((error: unknown) => {
   *       putBack('the mail server is away')
   *       throw error
   *     }),
   *   { plugin: 'mail-guard' },
   * )
   */
  putBack(reason: string): void
}

/**
 * Wraps every attempt of every worker in this process, isolated ones as well. What it returns is the result of the job; `undefined`
 * leaves the result of `next()` as it is. What it throws fails the attempt.
 */
export type JobMiddleware = (context: JobContext, next: () => Promise<unknown>) => unknown

export interface JobMiddlewareOptions {
  /** The plugin that adds it: the first in the order of the plugins is the outermost. */
  readonly plugin: string
  /** `pre`: outside of those of all plugins, `post`: inside. */
  readonly order?: 'pre' | 'post'
}

interface Entry {
  readonly middleware: JobMiddleware
  readonly options: JobMiddlewareOptions
}

const tiers = { pre: 0, post: 2 } as const

/** The middlewares of this process, in their order. */
export class JobMiddlewares {
  readonly #rank: (plugin: string) => number
  #entries: readonly Entry[] = []
  /** Replaced as a whole: an attempt that runs keeps those that it began with. */
  #chain: readonly JobMiddleware[] = []

  /** @param rank the place of a plugin among all; lower is further outside. */
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
    // The sort keeps the order of registration among those of one plugin.
    this.#entries = [...entries].sort((a, b) => tier(a) - tier(b) || this.#rank(a.options.plugin) - this.#rank(b.options.plugin))
    this.#chain = this.#entries.map(({ middleware }) => middleware)
  }
}

/** Where an attempt runs. */
export type AttemptPlace = Pick<JobContext, 'worker' | 'node'>

/** Runs the work of an attempt inside of the middlewares. One that only calls `next()` costs no promise but that of `next()`. */
export function runInside(chain: readonly JobMiddleware[], attempt: Attempt, place: AttemptPlace, work: () => unknown): unknown {
  const context = new AttemptContext(attempt, place)
  let entered = -1
  const enter = (index: number): unknown => {
    if (index <= entered) throw new Error('a job middleware called next() more than once')
    entered = index
    const middleware = chain[index]
    if (middleware === undefined) {
      context.hasBegun = true
      return work()
    }
    let inner: Promise<unknown> | undefined
    const given = middleware(context, () => {
      inner = promiseOf(() => enter(index + 1))
      return inner
    })
    if (given === inner) return inner
    // It is the middleware that says how the attempt ends, also when it does not wait for what it began.
    inner?.catch(() => undefined)
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
  /** Whether the attempt has come to its processor. */
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

  /** Not made before somebody asks for it. */
  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get putBack(): JobContext['putBack'] {
    return (reason) => this.#attempt.abort(new PutBack(reason))
  }

  /** A function of its own, so that it can be taken out of the context. */
  get delay(): JobContext['delay'] {
    return async (ms) => {
      if (this.hasBegun) throw new Error('a job middleware called delay() after the processor had begun')
      throw delayRequest(ms)
    }
  }
}
