import type { Kv } from 'zin/plugins/kv'
import type { StoredWorker } from './contract.js'
import { entryOf, type KvEntry } from './kv-entry.js'

/** Keys that are asked for at once: databases take so many parameters only. */
const chunk = 1000

/**
 * The list of workers in a store that has no lists: numbered slots, each with the name of a worker. Slots are used again, so there
 * are as many as there ever were workers at one time. What a process learned of them makes its next reading one round trip.
 */
export class KvSlots {
  readonly #kv: Kv
  readonly #countKey: string
  readonly #slotKey: (slot: number) => string
  readonly #workerKey: (name: string) => string
  /** What was seen last, by slot. A guess: it holds only when the worker points back. */
  #seen = new Map<number, string>()
  #count = 0

  constructor(kv: Kv, keyPrefix: string, workerKey: (name: string) => string) {
    this.#kv = kv
    this.#countKey = `${keyPrefix}:worker-slots`
    this.#slotKey = (slot) => `${keyPrefix}:worker-slots:${slot}`
    this.#workerKey = workerKey
  }

  /** Takes a slot for a name: the first that is not known to be taken and is free, else a new one. */
  async take(name: string): Promise<number> {
    const count = Number((await this.#kv.get(this.#countKey)) ?? 0)
    const unknown = slotsUpTo(count).filter((slot) => !this.#seen.has(slot))
    const names = await this.#many(unknown.map(this.#slotKey))
    for (const [index, slot] of unknown.entries()) {
      const taken = names[index]
      if (typeof taken === 'string') this.#seen.set(slot, taken)
      else if (await this.#claim(slot, name)) return slot
    }
    for (;;) {
      const slot = await this.#kv.increment(this.#countKey)
      if (await this.#claim(slot, name)) return slot
    }
  }

  async free(slot: number): Promise<void> {
    this.#seen.delete(slot)
    await this.#kv.delete(this.#slotKey(slot))
  }

  /** Every worker, in no order. */
  async workers(): Promise<readonly StoredWorker[]> {
    const last = this.#count
    const guesses = [...this.#seen]
    const unknown = slotsUpTo(last).filter((slot) => !this.#seen.has(slot))
    const keys = [this.#countKey, ...guesses.map(([, name]) => this.#workerKey(name)), ...unknown.map(this.#slotKey)]
    const [count, ...values] = await this.#many(keys)
    this.#count = Math.max(this.#count, Number(count ?? 0))

    const found = new Map<string, KvEntry>()
    const wrong = keep(found, guesses, values)
    const named = namedSlots(unknown, values.slice(guesses.length))
    const again = [...wrong, ...slotsUpTo(Number(count ?? 0)).slice(last)]
    if (again.length > 0) named.push(...namedSlots(again, await this.#many(again.map(this.#slotKey))))
    if (named.length > 0) keep(found, named, await this.#many(named.map(([, name]) => this.#workerKey(name))))
    this.#seen = new Map([...found].map(([name, { slot }]) => [slot, name]))
    return [...found.values()].map(({ worker }) => worker)
  }

  async #claim(slot: number, name: string): Promise<boolean> {
    const mine = await this.#kv.set(this.#slotKey(slot), name, { ifAbsent: true })
    if (mine) this.#seen.set(slot, name)
    return mine
  }

  async #many(keys: readonly string[]): Promise<readonly (string | null)[]> {
    const parts: Promise<readonly (string | null)[]>[] = []
    for (let start = 0; start < keys.length; start += chunk) parts.push(this.#kv.getMany(keys.slice(start, start + chunk)))
    return (await Promise.all(parts)).flat()
  }
}

type NamedSlot = readonly [slot: number, name: string]

/** Keeps the workers that point back at their slot, and gives the slots of all others. */
function keep(found: Map<string, KvEntry>, slots: readonly NamedSlot[], values: readonly (string | null)[]): readonly number[] {
  const wrong: number[] = []
  for (const [index, [slot, name]] of slots.entries()) {
    const entry = entryOf(values[index])
    if (entry?.slot === slot) found.set(name, entry)
    else wrong.push(slot)
  }
  return wrong
}

function namedSlots(slots: readonly number[], names: readonly (string | null)[]): NamedSlot[] {
  return slots.flatMap((slot, index) => {
    const name = names[index]
    return typeof name === 'string' ? [[slot, name] as const] : []
  })
}

function slotsUpTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}
