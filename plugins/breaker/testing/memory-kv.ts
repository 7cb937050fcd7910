import type { SharedCircuitsOptions } from '../shared-circuits.js'

/** An in-memory key-value store with the operations that circuits need. */
export function memoryKv(): SharedCircuitsOptions['kv'] & { isAway: boolean; calls: number } {
  const values = new Map<string, string>()
  const kv = {
    isAway: false,
    calls: 0,
    async get(key: string) {
      reach()
      return values.get(key) ?? null
    },
    async getMany(keys: readonly string[]) {
      reach()
      return keys.map((key) => values.get(key) ?? null)
    },
    async set(key: string, value: string, { ifAbsent = false, ifValue }: { readonly ifAbsent?: boolean; readonly ifValue?: string } = {}) {
      reach()
      if ((ifAbsent && values.has(key)) || (ifValue !== undefined && values.get(key) !== ifValue)) return false
      values.set(key, value)
      return true
    },
    async delete(key: string) {
      reach()
      return values.delete(key)
    },
  }
  const reach = (): void => {
    kv.calls++
    if (kv.isAway) throw new Error('the store is away')
  }
  return kv
}
