import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export interface RestarterOptions {
  /** Whether a child has not finished starting; it is then killed after `graceMs`. */
  readonly isStarting?: (child: ChildProcess) => boolean
  /** How long a child that has not finished starting may take to exit, in ms. Default 1000. */
  readonly graceMs?: number
}

/** Runs at most one child process: each restart stops the old one before it spawns the new one. */
export class Restarter {
  readonly #make: () => Promise<ChildProcess>
  readonly #isStarting: (child: ChildProcess) => boolean
  readonly #graceMs: number
  #child: ChildProcess | undefined
  #stopped = false
  /** Serializes restarts; restarts requested while one is waiting are merged with it. */
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

  /** Stops the child with SIGTERM and waits until it has exited. Further restarts have no effect. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#turn
    await this.#end()
  }

  /** Kills the child immediately. */
  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  async #end(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    // Without a pid it was never spawned.
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    const hard = this.#isStarting(child) ? setTimeout(() => child.kill('SIGKILL'), this.#graceMs) : undefined
    child.kill('SIGTERM')
    await ended
    clearTimeout(hard)
  }
}
