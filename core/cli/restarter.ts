import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export interface RestarterOptions {
  /** Whether a child has yet to start, so that its end need not be waited for. */
  readonly isStarting?: (child: ChildProcess) => boolean
  /** How long a child that has yet to start may take to end. Default 1000. */
  readonly graceMs?: number
}

/** Keeps at most one child process: each restart ends the old one before it makes the new one. */
export class Restarter {
  readonly #make: () => Promise<ChildProcess>
  readonly #isStarting: (child: ChildProcess) => boolean
  readonly #graceMs: number
  #child: ChildProcess | undefined
  #stopped = false
  /** Restarts wait for each other; those that pile up are one. */
  #turn: Promise<void> = Promise.resolve()
  #waiting = false

  constructor(make: () => Promise<ChildProcess>, { isStarting = () => false, graceMs = 1_000 }: RestarterOptions = {}) {
    this.#make = make
    this.#isStarting = isStarting
    this.#graceMs = graceMs
  }

  restart(): Promise<void> {
    if (this.#waiting) return this.#turn
    this.#waiting = true
    const turn = this.#turn.then(async () => {
      this.#waiting = false
      await this.#end()
      if (!this.#stopped) this.#child = await this.#make()
    })
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  /** Ends the child with SIGTERM and waits for it. No restart follows. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#turn
    await this.#end()
  }

  /** Ends the child at once. */
  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  async #end(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    // Without a pid it never ran.
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    const hard = this.#isStarting(child) ? setTimeout(() => child.kill('SIGKILL'), this.#graceMs) : undefined
    child.kill('SIGTERM')
    await ended
    clearTimeout(hard)
  }
}
