import { type Logger, messageOf } from 'zin'
import type { Cluster, Leadership } from 'zin/plugins/cluster'
import type { History } from './history/history.js'
import type { Sample, Snapshots } from './snapshot/snapshots.js'

export interface SamplerOptions {
  readonly cluster: Cluster
  readonly snapshots: Snapshots
  readonly history: History
  readonly log: Logger
  /** Called with each sample of the leader. */
  readonly onSample?: (sample: Sample) => Promise<void>
}

/** Samples the queues on one node and records their history. */
export class Sampler {
  readonly #options: SamplerOptions
  #leadership: Leadership | undefined
  #failing = false

  constructor(options: SamplerOptions) {
    this.#options = options
  }

  open(): void {
    this.#leadership = this.#options.cluster.lead('queue-monitor.sampler', { onLoss: () => this.#options.history.forget() })
  }

  /** Whether this node takes the samples. */
  get leads(): boolean {
    return this.#leadership?.leads === true
  }

  /** Takes a sample if this node is the leader. Repeated failures are logged once, until sampling succeeds again. */
  async sample(): Promise<void> {
    if (!this.leads) return
    const { history, log, onSample, snapshots } = this.#options
    try {
      const sample = await snapshots.take()
      await history.add(sample)
      await onSample?.(sample)
      if (this.#failing) log.info('queue sampling works again')
      this.#failing = false
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, `queue sampling failed: ${messageOf(error)}`)
      this.#failing = true
    }
  }

  async close(): Promise<void> {
    await this.#leadership?.resign()
  }
}
