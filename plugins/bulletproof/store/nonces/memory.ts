import type { Clock } from 'zin'
import { ownLookup } from '../lookup.js'
import type { NonceStore } from './contract.js'

/** Nonces that expire within the same span are deleted together; in ms. */
const SPAN = 5_000

/** Nonces in the memory of one process, lost when it ends. */
export function memoryNonces(clock: Clock): NonceStore & { readonly size: number } {
  const birth = clock.now()
  const taken = new Map<string, number>()
  const spans = new Map<number, string[]>()
  let swept = 0

  const sweep = (): void => {
    const present = Math.floor(clock.now() / SPAN)
    if (present === swept) return
    swept = present
    for (const [span, keys] of spans) {
      if (span >= present) continue
      for (const key of keys) if ((taken.get(key) ?? 0) < clock.now()) taken.delete(key)
      spans.delete(span)
    }
  }
  const isTaken = (key: string): boolean => (taken.get(key) ?? 0) >= clock.now()

  return {
    driver: 'memory',
    get size() {
      return taken.size
    },
    glance: (keys) => ownLookup(() => ({ birth, seen: keys.some(isTaken) })),
    claim(key, until) {
      sweep()
      if (isTaken(key)) return false
      taken.set(key, until)
      const span = Math.floor(until / SPAN)
      const keys = spans.get(span)
      if (keys === undefined) spans.set(span, [key])
      else keys.push(key)
      return true
    },
    async open() {},
    async sweep() {
      sweep()
    },
  }
}
