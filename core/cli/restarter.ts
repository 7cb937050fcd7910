import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Keeps at most one child process: each restart ends the old one before it makes the new one. */
export class Restarter {
  readonly #make: () => Promise<ChildProcess>
  #child: ChildProcess | undefined
  #stopped = false
  /** Restarts wait for each other; those that pile up are one. */
  #turn: Promise<void> = Promise.resolve()
  #waiting = false

  constructor(make: () => Promise<ChildProcess>) {
    this.#make = make
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
    child.kill('SIGTERM')
    await ended
  }
}
