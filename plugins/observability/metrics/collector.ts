import type { CollectSlot, Logger, MetricSample } from 'zin'
import type { MetricFamily, MetricsPage } from '../contract.js'
import { gather, type Refusal } from './families.js'
import type { SeriesLimit } from './limit.js'
import { render } from './render.js'
import { SeriesCounter } from './series.js'

export interface CollectorOptions {
  readonly slot: CollectSlot<[], readonly MetricSample[]>
  readonly limit: SeriesLimit
  readonly log: Logger
}

/** Maximum number of problems that are remembered as logged. */
const maxLogged = 1000

/** Collects the metrics of all plugins and logs each problem once. */
export class Collector {
  readonly #options: CollectorOptions
  readonly #refused = new SeriesCounter({
    name: 'zin_metrics_refused_samples_total',
    help: 'Samples of a plugin that were left out of a page because they are invalid',
    labels: ['plugin'],
  })
  readonly #logged = new Set<string>()
  #running: Promise<readonly MetricFamily[]> | undefined

  constructor(options: CollectorOptions) {
    this.#options = options
  }

  collect(): Promise<readonly MetricFamily[]> {
    this.#running ??= this.#collect().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async page(accept = ''): Promise<MetricsPage> {
    return render(await this.collect(), accept)
  }

  async #collect(): Promise<readonly MetricFamily[]> {
    const { limit, slot } = this.#options
    const given = await slot.call()
    const { families, refusals } = gather(given)
    for (const refusal of refusals) this.#refuse(refusal)
    const own = gather(new Map([['observability', this.#refused.samples()]])).families
    return limit.apply([...families, ...own].sort((a, b) => (a.name < b.name ? -1 : 1)))
  }

  #refuse({ plugin, problem }: Refusal): void {
    this.#refused.add([plugin])
    const key = `${plugin}\u0000${problem}`
    if (this.#logged.has(key) || this.#logged.size >= maxLogged) return
    this.#logged.add(key)
    this.#options.log.warn({ source: plugin }, `a metric of the plugin "${plugin}" was left out: ${problem}`)
  }
}
