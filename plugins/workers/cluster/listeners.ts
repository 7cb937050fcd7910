import { type Logger, messageOf } from 'zin'
import type { ClusterMessage } from './cluster.js'

type Listener = (message: ClusterMessage) => void

/** Who hears the messages of one process. A listener that throws harms nobody. */
export class Listeners {
  readonly #listeners = new Map<symbol, Listener>()
  readonly #log: Logger | undefined

  constructor(log?: Logger) {
    this.#log = log
  }

  get size(): number {
    return this.#listeners.size
  }

  /** Returns what removes it; from then on it hears nothing more. */
  add(listener: Listener): () => void {
    const key = Symbol('listener')
    this.#listeners.set(key, listener)
    return () => void this.#listeners.delete(key)
  }

  tell(message: ClusterMessage): void {
    for (const key of [...this.#listeners.keys()]) {
      try {
        this.#listeners.get(key)?.(message)
      } catch (error) {
        this.#log?.error({ err: error, message: message.kind }, `a listener to worker messages threw: ${messageOf(error)}`)
      }
    }
  }
}
