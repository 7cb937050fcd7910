import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from 'zin'
import { WireError } from 'zin/plugins/sql-wire'
import { timedOut, tooManyBytes } from '../worker/failures.js'
import { type SqliteProcess, startSqliteProcess } from './sqlite-process.js'
import type { SqliteRequest, SqliteResult } from './sqlite-protocol.js'

/** Maximum number of waiting requests. */
const maxWaiting = 512

/** How long a request may exceed its time limit before its process is killed, in ms: a restart takes about as long, and others wait for it. */
const graceMs = 200

/** Backoff between an unexpected exit of the process and its restart, in ms; doubled after each one in a row. */
const backoff = { first: 100, most: 5_000 }

export interface SqliteQueueOptions {
  readonly path: string
  /** Called when the process exits unexpectedly or cannot be started. */
  onLost(why: string): void
}

interface Waiting {
  readonly request: SqliteRequest
  /** Kills the process that runs it. */
  end: (() => void) | undefined
  readonly resolve: (results: readonly SqliteResult[]) => void
  readonly reject: (error: Error) => void
}

/** Runs requests for a file one at a time in a child process, which is killed and restarted if one takes too long. */
export class SqliteQueue {
  readonly #options: SqliteQueueOptions
  readonly #waiting = new Set<Waiting>()
  readonly #closing = new AbortController()
  #process: SqliteProcess | undefined
  #running: Waiting | undefined
  #works = false
  #lost = 0

  constructor(options: SqliteQueueOptions) {
    this.#options = options
  }

  /** Opens the file. Rejects if it cannot be opened. */
  async open(): Promise<void> {
    await this.#start()
  }

  /**
   * Runs a request. Rejects with WireErrors: QUERY_TIMEOUT if it took too long and may have run; DB_UNAVAILABLE if the process exited
   * meanwhile or cannot be started; POOL_EXHAUSTED and SHUTTING_DOWN if it has not run; RESULT_TOO_LARGE. Rejects with other errors if SQLite
   * refuses it.
   */
  run(request: SqliteRequest, timeoutMs: number): Promise<readonly SqliteResult[]> {
    if (this.#closing.signal.aborted) return Promise.reject(shuttingDown())
    if (this.#waiting.size >= maxWaiting)
      return Promise.reject(
        new WireError('POOL_EXHAUSTED', `${maxWaiting} requests are waiting for the database already, which is the maximum`),
      )
    return new Promise((resolve, reject) => {
      const settle = (settled: () => void): void => {
        clearTimeout(timer)
        settled()
      }
      const waiting: Waiting = {
        request,
        end: undefined,
        resolve: (results) => settle(() => resolve(results)),
        reject: (error) => settle(() => reject(error)),
      }
      const timer = setTimeout(() => this.#expire(waiting, timeoutMs), timeoutMs)
      this.#waiting.add(waiting)
      if (!this.#works) void this.#work()
    })
  }

  /** Refuses waiting requests, ends the running one, and closes the file. */
  async close(): Promise<void> {
    this.#closing.abort()
    for (const waiting of this.#waiting) waiting.reject(shuttingDown())
    this.#waiting.clear()
    this.#running?.reject(shuttingDown({ outcome: 'unknown' }))
    const sqlite = this.#process
    this.#process = undefined
    if (this.#running === undefined) return sqlite?.close()
    sqlite?.kill()
    await sqlite?.ended
  }

  #expire(waiting: Waiting, timeoutMs: number): void {
    if (this.#waiting.delete(waiting)) {
      waiting.reject(
        this.#running === undefined
          ? notOpen()
          : new WireError('POOL_EXHAUSTED', `The database was busy for ${timeoutMs} ms; the request was not run`),
      )
    } else {
      waiting.reject(timedOut())
      setTimeout(() => waiting.end?.(), graceMs)
    }
  }

  async #work(): Promise<void> {
    this.#works = true
    while (this.#waiting.size > 0) {
      const sqlite = await this.#opened()
      const [next] = this.#waiting
      if (sqlite === undefined || next === undefined) continue
      this.#waiting.delete(next)
      await this.#runIn(sqlite, next)
    }
    this.#works = false
  }

  async #runIn(sqlite: SqliteProcess, waiting: Waiting): Promise<void> {
    this.#running = waiting
    waiting.end = () => {
      this.#process = undefined
      sqlite.kill()
    }
    const response = await sqlite.run(waiting.request).catch(async (cause: unknown) => {
      await sqlite.ended
      return new WireError('DB_UNAVAILABLE', 'The database is not available', {
        retryable: false,
        details: { outcome: 'unknown' },
        cause,
      })
    })
    waiting.end = undefined
    this.#running = undefined
    if (!(response instanceof WireError)) this.#lost = 0
    if (response instanceof WireError) waiting.reject(response)
    else if (response.type === 'results') waiting.resolve(response.results)
    else if (response.type === 'json-results') waiting.resolve(JSON.parse(response.json))
    else waiting.reject(response.type === 'too-large' ? tooManyBytes() : new Error(response.message))
  }

  /** Returns the process with the open file; undefined if it cannot be started. */
  async #opened(): Promise<SqliteProcess | undefined> {
    if (this.#process !== undefined) return this.#process
    const { signal } = this.#closing
    const ms = this.#lost === 0 ? 0 : Math.min(backoff.first * 2 ** (this.#lost - 1), backoff.most)
    await delay(ms, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return undefined
    return this.#start().catch((error: unknown) => this.#lose(messageOf(error)))
  }

  async #start(): Promise<SqliteProcess> {
    const started = startSqliteProcess(this.#options.path)
    this.#process = started
    try {
      await started.ready
    } catch (error) {
      this.#process = undefined
      started.kill()
      await started.ended
      throw error
    }
    void started.ended.then((how) => {
      if (this.#process !== started) return
      this.#process = undefined
      this.#lose(`the process of ${this.#options.path} ${how}`)
    })
    return started
  }

  #lose(why: string): undefined {
    if (this.#closing.signal.aborted) return
    this.#lost++
    this.#options.onLost(why)
  }
}

/** Returns the error of a request that waited for a process that cannot be started. */
function notOpen(): WireError {
  return new WireError('DB_UNAVAILABLE', 'The database cannot be opened; the request was not run', {
    details: { outcome: 'cancelled' },
  })
}

function shuttingDown(details?: { readonly outcome: 'unknown' }): WireError {
  return new WireError('SHUTTING_DOWN', 'The proxy is shutting down', details === undefined ? {} : { details })
}
