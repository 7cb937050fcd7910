import type { Kv } from 'zin/plugins/kv'

/** The part of kv that the audit log uses, in memory. */
export function memoryKv() {
  const values = new Map<string, string>()
  const control = { down: false }
  const up = (): void => {
    if (control.down) throw new Error('kv is unreachable')
  }
  const kv: Pick<Kv, 'delete' | 'get' | 'getMany' | 'set'> = {
    async get(key) {
      up()
      return values.get(key) ?? null
    },
    async getMany(keys) {
      up()
      return keys.map((key) => values.get(key) ?? null)
    },
    async set(key, value, { ifAbsent = false, ifValue } = {}) {
      up()
      if ((ifAbsent && values.has(key)) || (ifValue !== undefined && values.get(key) !== ifValue)) return false
      values.set(key, value)
      return true
    },
    async delete(key) {
      up()
      return values.delete(key)
    },
  }
  /** Returns a function that sets kv back to what it contains now. */
  const copy = () => {
    const old = [...values]
    return (): void => {
      values.clear()
      for (const [key, value] of old) values.set(key, value)
    }
  }
  return Object.assign(control, kv, { copy, clear: () => values.clear(), size: () => values.size })
}
