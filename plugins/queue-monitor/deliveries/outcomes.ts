import { type Logger, messageOf } from 'zin'
import type { Kv } from 'zin/plugins/kv'

/** What became of the deliveries to an endpoint since one was accepted. Times are ms since 1970. */
export interface EndpointOutcome {
  /** When one was accepted after others had failed. */
  readonly good?: number
  /** When one failed last, since then. */
  readonly bad?: number
  /** When the first of those that failed was created. */
  readonly since: number
  /** The last error. */
  readonly error: string
  /** Deliveries whose last attempt has failed, and those that will be tried again. */
  readonly dead: number
  readonly trying: number
}

export interface Refusal {
  readonly at: number
  /** Earlier failures say nothing: when the endpoint was added or enabled. */
  readonly enabledAt: number
  readonly createdAt: number
  readonly error: string
  readonly isFinal: boolean
  /** When the attempt before ended, and whether it was the last one, before the delivery was sent again. */
  readonly before?: { readonly at: number; readonly wasFinal: boolean }
}

export type EndpointOutcomes = Readonly<Record<string, EndpointOutcome>>

const none: EndpointOutcome = { since: 0, error: '', dead: 0, trying: 0 }
const key = 'monitor:webhooks:outcomes'
const weekMs = 7 * 86_400_000
const mostError = 300

/** Counts a failed attempt. Each delivery counts once, however often it is tried. Pure. */
export function refused(known: EndpointOutcome = none, { at, before, createdAt, enabledAt, error, isFinal }: Refusal): EndpointOutcome {
  const from = Math.max(known.good ?? 0, enabledAt)
  const own = known.bad !== undefined && known.bad > from ? known : { ...none, ...(known.good === undefined ? {} : { good: known.good }) }
  const isCounted = own.bad !== undefined && before !== undefined && before.at > from
  const [dead, trying] = isCounted ? (before.wasFinal ? [own.dead - 1, own.trying] : [own.dead, own.trying - 1]) : [own.dead, own.trying]
  return {
    ...own,
    bad: at,
    since: own.bad === undefined ? createdAt : Math.min(own.since, createdAt),
    error: error.slice(0, mostError),
    dead: Math.max(0, dead) + (isFinal ? 1 : 0),
    trying: Math.max(0, trying) + (isFinal ? 0 : 1),
  }
}

/**
 * What became of the latest deliveries to each endpoint, kept by the node that delivers, in one value. Endpoints that work cost nothing; while
 * one fails, there is at most one write at a time.
 */
export class OutcomeLog {
  readonly #kv: Kv
  readonly #log: Logger
  #all = new Map<string, EndpointOutcome>()
  #changed = false
  #writing: Promise<void> | undefined

  constructor(kv: Kv, log: Logger) {
    this.#kv = kv
    this.#log = log
  }

  /** As stored; any node. */
  async read(): Promise<EndpointOutcomes> {
    const text = await this.#kv.get(key)
    return text === null ? {} : (JSON.parse(text) as EndpointOutcomes)
  }

  /** Takes over from the node that delivered before. */
  async load(): Promise<void> {
    this.#all = new Map(Object.entries(await this.read()))
  }

  accepted(endpoint: string, at: number): void {
    if (this.#all.get(endpoint)?.bad !== undefined) this.#set(endpoint, { ...none, good: at })
  }

  refused(endpoint: string, refusal: Refusal): void {
    this.#set(endpoint, refused(this.#all.get(endpoint), refusal))
  }

  /** Forgets other endpoints, and stores what could not be stored. Resolves when it is stored, or cannot be. */
  async flush(endpoints: ReadonlySet<string>): Promise<void> {
    for (const id of this.#all.keys()) {
      if (endpoints.has(id)) continue
      this.#all.delete(id)
      this.#changed = true
    }
    if (this.#changed) this.#write()
    await this.#writing
  }

  #set(endpoint: string, outcome: EndpointOutcome): void {
    this.#all.set(endpoint, outcome)
    this.#changed = true
    this.#write()
  }

  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#changed) {
        this.#changed = false
        await this.#kv.set(key, JSON.stringify(Object.fromEntries(this.#all)), { ttlMs: weekMs })
      }
    } catch (error) {
      this.#changed = true
      this.#log.debug({ err: error }, `the outcomes of deliveries could not be stored yet: ${messageOf(error)}`)
    }
  }
}
