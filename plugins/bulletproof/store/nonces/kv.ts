import type { Clock } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import { after } from '../../pending.js'
import type { NonceStore } from './contract.js'
import { CLOCK_TOLERANCE_MS, type Ledger } from './ledger.js'

const BIRTH = 'bulletproof:nonces-since'
const keyOf = (key: string): string => `bulletproof:nonce:${key}`

/**
 * Nonces in the kv store. A missing birth key means that the store was flushed and its nonces are lost. It then gets a new birth time,
 * later than now by the ledger's margin unless the ledger is new as well.
 */
export function kvNonces(kvNow: () => Kv, clock: Clock, ledger: Pick<Ledger, 'begin' | 'marginMs'>): NonceStore {
  const begin = async (): Promise<number> => {
    const kv = kvNow()
    const known = Number(await kv.get(BIRTH))
    if (known > 0) return known
    const birth = clock.now() + ((await ledger.begin()) ? 0 : ledger.marginMs)
    await kv.set(BIRTH, String(birth), { ifAbsent: true })
    return Number(await kv.get(BIRTH)) || birth
  }

  return {
    driver: 'kv',
    glance: (keys) => ({
      keys: [BIRTH, ...keys.map(keyOf)],
      read: ([birth = null, ...values]) => {
        const seen = values.some((value) => value !== null)
        return after(birth === null ? begin() : Number(birth), (birth) => ({ birth, seen }))
      },
    }),
    // Longer than this process would accept the request, because the clocks of others may be behind.
    claim: (key, until) =>
      kvNow().set(keyOf(key), '1', { ifAbsent: true, ttlMs: Math.max(1, until - clock.now() + 1) + 2 * CLOCK_TOLERANCE_MS }),
    async open() {
      await begin()
    },
    // Keys expire in the store.
    async sweep() {},
  }
}
