import type { Logger } from 'zin'
import type { Cluster } from 'zin/plugins/cluster'
import { defineMessage } from 'zin/plugins/cluster'
import { type Kv, updateKey } from 'zin/plugins/kv'
import type { Circuit } from './circuit.js'

/** The circuits of a worker that are not closed, by job name; the empty name stands for all jobs of the worker. */
export type Circuits = Readonly<Record<string, Circuit>>

export interface SharedCircuitsOptions {
  readonly kv: Pick<Kv, 'delete' | 'get' | 'getMany' | 'set'>
  readonly cluster: Pick<Cluster, 'node' | 'on' | 'send'>
  readonly log: Logger
}

export interface Changed {
  readonly before: Circuits
  readonly after: Circuits
}

const changed = defineMessage<{ readonly worker: string }>('breaker.changed')

/** TTL of stored circuits, in ms. */
const keepMs = 86_400_000
/** Keys per round trip. */
const batch = 500

interface Stored {
  /** Incremented with every change, so that compare-and-set never confuses two states. */
  readonly revision: number
  readonly circuits: Circuits
}

/** Circuits shared by all processes: one small value per worker, changed by compare-and-set. */
export class SharedCircuits {
  readonly #options: SharedCircuitsOptions
  /** The last operation per worker. Operations on one worker run sequentially. */
  readonly #tails = new Map<string, Promise<unknown>>()

  constructor(options: SharedCircuitsOptions) {
    this.#options = options
  }

  read(worker: string): Promise<Circuits> {
    return this.#enqueue(worker, async () => parse(await this.#options.kv.get(keyOf(worker))).circuits)
  }

  /** Reads the circuits of several workers in their order, in one round trip per 500. */
  async readMany(workers: readonly string[]): Promise<readonly Circuits[]> {
    const found: Circuits[] = []
    for (let start = 0; start < workers.length; start += batch) {
      const texts = await this.#options.kv.getMany(workers.slice(start, start + batch).map(keyOf))
      found.push(...texts.map((text) => parse(text).circuits))
    }
    return found
  }

  /** Applies `step` to the stored circuits; it may run several times. Nothing is written if it returns its argument. */
  change(worker: string, step: (circuits: Circuits) => Circuits): Promise<Changed> {
    return this.#enqueue(worker, async () => {
      let change: Changed = { before: {}, after: {} }
      const written = await updateKey(this.#options.kv, keyOf(worker), (text) => {
        const { circuits: before, revision } = parse(text)
        const after = step(before)
        change = { before, after }
        const next: Stored = { revision: revision + 1, circuits: after }
        return after === before ? undefined : { value: JSON.stringify(next), ttlMs: keepMs }
      })
      if (written !== undefined) this.#notify(worker)
      return change
    })
  }

  /** Deletes the circuits of a worker, so that all are closed. */
  clear(worker: string): Promise<void> {
    return this.#enqueue(worker, async () => {
      if (await this.#options.kv.delete(keyOf(worker))) this.#notify(worker)
    })
  }

  /** Calls the listener when another process has changed the circuits of a worker. Returns a function that removes it. */
  onChange(listener: (worker: string) => void): () => void {
    const { cluster } = this.#options
    return cluster.on(changed, ({ worker }, from) => {
      if (from !== cluster.node.id) listener(worker)
    })
  }

  #notify(worker: string): void {
    const { cluster, log } = this.#options
    cluster.send(changed, { worker }).catch((error: unknown) => {
      log.debug({ err: error, worker }, 'other nodes could not be notified of a circuit change; they will poll')
    })
  }

  #enqueue<T>(worker: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#tails.get(worker) ?? Promise.resolve()).then(work)
    const tail = done
      .catch(() => undefined)
      .then(() => {
        if (this.#tails.get(worker) === tail) this.#tails.delete(worker)
      })
    this.#tails.set(worker, tail)
    return done
  }
}

const keyOf = (worker: string): string => `breaker:${worker}`

function parse(text: string | null): Stored {
  try {
    const stored = JSON.parse(text ?? 'null') as Partial<Stored> | null
    if (Number.isInteger(stored?.revision) && typeof stored?.circuits === 'object') return stored as Stored
  } catch {
    // The value was not written by this plugin; the next change replaces it.
  }
  return { revision: 0, circuits: {} }
}
