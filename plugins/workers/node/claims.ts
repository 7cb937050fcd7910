import type { Cluster, Leadership } from 'zin/plugins/cluster'
import type { WorkerKey } from './local-worker-parts.js'

interface Claim {
  readonly leadership: Leadership
  /** Whether it was given back; the role may not be released yet. */
  ended: boolean
  released?: Promise<void>
}

/**
 * This node's claims to workers without clustering, which run on one node at a time: the node that holds the claim. Others that the placement
 * chooses wait for it: the holder releases it once the worker has stopped, and loses it with its lease.
 */
export class Claims {
  readonly #cluster: Pick<Cluster, 'lead'> | undefined
  readonly #changed: (worker: string) => void
  /** By the worker's id. */
  readonly #claims = new Map<string, Claim>()
  #closed = false

  /**
   * @param cluster undefined if there is no other node, so that nothing is claimed.
   * @param changed called with the name of a worker whose claim this node was given after a wait, or has lost.
   */
  constructor(cluster: Pick<Cluster, 'lead'> | undefined, changed: (worker: string) => void) {
    this.#cluster = cluster
    this.#changed = changed
  }

  /** Whether this node may run the worker. */
  holds(id: string): boolean {
    if (this.#cluster === undefined) return true
    const claim = this.#claims.get(id)
    return claim !== undefined && !claim.ended && claim.leadership.leads
  }

  /** Whether this node holds or awaits the claim. */
  has(id: string): boolean {
    return this.#claims.has(id)
  }

  /** Claims a worker. Resolves to whether this node may run it now; otherwise it waits in line, until `release`. */
  async take({ id, name }: WorkerKey): Promise<boolean> {
    await this.#claims.get(id)?.released
    if (this.#closed) return false
    if (this.#cluster !== undefined) await (this.#claims.get(id) ?? this.#claim(this.#cluster, id, name)).leadership.tried
    return this.holds(id)
  }

  /** Gives the claim back, or leaves the line. Call it when the worker does not run here. Never rejects. */
  async release(id: string): Promise<void> {
    const claim = this.#claims.get(id)
    if (claim === undefined) return
    claim.ended = true
    claim.released ??= claim.leadership.resign({ forget: true }).finally(() => this.#claims.delete(id))
    await claim.released
  }

  /** Takes no more claims, and leaves every line: this node is leaving. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#claims.keys()].filter((id) => !this.holds(id)).map((id) => this.release(id)))
  }

  #claim(cluster: Pick<Cluster, 'lead'>, id: string, name: string): Claim {
    let tried = false
    const changed = (): void => {
      if (tried && !claim.ended) this.#changed(name)
    }
    const claim: Claim = { ended: false, leadership: cluster.lead(`workers.alone.${id}`, { onGain: changed, onLoss: changed }) }
    void claim.leadership.tried.then(() => {
      tried = true
    })
    this.#claims.set(id, claim)
    return claim
  }
}
