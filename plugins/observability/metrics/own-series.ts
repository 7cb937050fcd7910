import type { LocalWorker } from 'zin/plugins/workers'

/** Determines which workers of this process have their own series: all except those with the feature `observability: false`. */
export class OwnSeries {
  readonly #list: () => readonly LocalWorker[]
  #without: ReadonlySet<string> | undefined

  constructor(list: () => readonly LocalWorker[]) {
    this.#list = list
  }

  /** Called when workers were started or changed; the next lookup reads them again. */
  readonly forget = (): void => {
    this.#without = undefined
  }

  readonly has = (worker: string): boolean => {
    this.#without ??= new Set(this.#list().flatMap(({ features, name }) => (features.observability === false ? [name] : [])))
    return !this.#without.has(worker)
  }
}
