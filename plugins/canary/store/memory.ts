import type { CanaryStore } from './contract.js'
import type { KeyValues } from './kv.js'
import { kvStore } from './kv.js'

/** Stores canaries in process memory; they are lost when it ends. */
export function memoryStore(): CanaryStore {
  return kvStore(memoryValues(), 'memory')
}

function memoryValues(): KeyValues {
  const values = new Map<string, string>()
  return {
    get: async (key) => values.get(key) ?? null,
    getMany: async (keys) => keys.map((key) => values.get(key) ?? null),
    async set(key, value, { ifAbsent = false, ifValue } = {}) {
      if (ifAbsent && values.has(key)) return false
      if (ifValue !== undefined && values.get(key) !== ifValue) return false
      values.set(key, value)
      return true
    },
    delete: async (key) => values.delete(key),
  }
}
