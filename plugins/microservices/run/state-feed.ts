import type { InstanceState } from './instance.js'

/**
 * Sends changed states of instances to one child process, of the given services only. One message is on its way at a time; meanwhile only
 * the newest state of each instance is kept, so a child that does not read costs no more than that.
 */
export class StateFeed {
  readonly #services: ReadonlySet<string>
  readonly #send: (states: readonly InstanceState[], done: () => void) => void
  readonly #changed = new Map<string, InstanceState>()
  #sending = false

  /** @param send calls `done` once the message has left this process. */
  constructor(services: ReadonlySet<string>, send: (states: readonly InstanceState[], done: () => void) => void) {
    this.#services = services
    this.#send = send
  }

  changed(state: InstanceState): void {
    if (!this.#services.has(state.service)) return
    this.#changed.set(state.instance, state)
    this.#next()
  }

  #next(): void {
    if (this.#sending || this.#changed.size === 0) return
    const states = [...this.#changed.values()]
    this.#changed.clear()
    this.#sending = true
    this.#send(states, () => {
      this.#sending = false
      this.#next()
    })
  }
}
