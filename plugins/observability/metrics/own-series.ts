import type { LocalWorker } from 'zin/plugins/workers'

/** Which workers of this process have series of their own: all but those whose feature `observability` is false. */
export class OwnSeries {
  readonly #list: () => readonly LocalWorker[]
  #without: ReadonlySet<string> | undefined

  constructor(list: () => readonly LocalWorker[]) {
    this.#list = list
  }

  /** Workers were started or changed: reads them again with the next question. */
  readonly forget = (): void => {
    this.#without = undefined
  }

  readonly has = (worker: string): boolean => {
    this.#without ??= new Set(this.#list().flatMap(({ features, name }) => (features.observability === false ? [name] : [])))
    return !this.#without.has(worker)
  }
}
