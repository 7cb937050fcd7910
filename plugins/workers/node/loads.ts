import { activationOf, type StoredWorker } from '../store/contract.js'

/** A load that a later change of its worker made needless was given up. */
export class GivenUp extends Error {}

/** `start`: of a worker that takes no jobs yet. `switch`: of another version. `candidates`: of versions next to the active one. */
type LoadKind = 'start' | 'switch' | 'candidates'

interface Load {
  readonly kind: LoadKind
  readonly worker: StoredWorker
  readonly abort: AbortController
}

/** The code of a worker that is being loaded or checked; at most one load at a time. A change that makes it needless does not wait for it. */
export class Loads {
  #current: Load | undefined
  #closed = false

  /** Runs a load. Rejects with {@link GivenUp} if it was given up, and does not begin after `close`. */
  async run<T>(kind: LoadKind, worker: StoredWorker, load: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController()
    if (this.#closed) throw new GivenUp()
    this.#current = { kind, worker, abort }
    try {
      return await load(abort.signal)
    } catch (error) {
      throw abort.signal.aborted ? abort.signal.reason : error
    } finally {
      this.#current = undefined
    }
  }

  /** Gives up the current load if the newer state of its worker does not need it. @param stops whether the worker stops here. */
  review(worker: StoredWorker, stops: boolean): void {
    if (this.#current !== undefined && (stops || !needs(this.#current, worker))) this.#current.abort.abort(new GivenUp())
  }

  close(): void {
    this.#closed = true
    this.#current?.abort.abort(new GivenUp())
  }
}

function needs({ kind, worker }: Load, now: StoredWorker): boolean {
  if (now.generation <= worker.generation) return true
  if (activationOf(now) !== activationOf(worker)) return false
  // A pause does not wait for code. A worker that starts takes no jobs yet, and starts paused.
  if (kind === 'start') return true
  const candidates = (of: StoredWorker): string => JSON.stringify(of.desired.candidates ?? [])
  return !now.desired.paused && (kind === 'switch' || candidates(now) === candidates(worker))
}
