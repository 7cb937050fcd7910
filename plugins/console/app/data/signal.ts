import { useEffect, useState } from 'preact/hooks'

/** An observable value. */
export class Value<T> {
  readonly #listeners = new Set<() => void>()
  #value: T

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  set(next: T): void {
    if (Object.is(next, this.#value)) return
    this.#value = next
    for (const listener of [...this.#listeners]) listener()
  }

  on(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

export function useValue<T>(source: Value<T>): T {
  const [, redraw] = useState(0)
  useEffect(() => source.on(() => redraw((number) => number + 1)), [source])
  return source.value
}
