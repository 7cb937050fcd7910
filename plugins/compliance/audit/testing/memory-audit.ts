import { type Chain, registerChain } from '../chain.js'
import type { AuditEntry } from '../entry.js'
import type { AuditStore } from '../store/contract.js'

/** An in-memory audit store whose rows a test can change. */
export function memoryAudit() {
  const entries = new Map<number, AuditEntry>()
  const chains = new Map<number, Chain>()
  const range = (after: number, to: number): AuditEntry[] =>
    [...entries.values()].filter(({ id }) => id > after && id <= to).sort((a, b) => a.id - b.id)
  const control = { down: false }
  const up = (): void => {
    if (control.down) throw new Error('the disk is full')
  }
  const store: AuditStore = {
    batchLimits: { entries: 500, bytes: Number.POSITIVE_INFINITY },
    async open(chain, register) {
      up()
      if (chains.has(chain.chain)) return false
      chains.set(chain.chain, chain)
      chains.set(registerChain, register)
      return true
    },
    async append(added, { chain, closed, entries: length, keyId, lastHash, seal }) {
      up()
      for (const entry of added) if (!entries.has(entry.id)) entries.set(entry.id, entry)
      chains.set(chain, { ...(chains.get(chain) as Chain), closed, entries: length, keyId, lastHash, seal })
    },
    list: async (_query, { limit, offset }) => [...entries.values()].reverse().slice(offset, offset + limit),
    count: async () => entries.size,
    entries: async ({ after, limit, to }) => range(after, to).slice(0, limit),
    firstSince: async ({ after, since, to }) => range(after, to).find(({ at }) => at >= since)?.id,
    chain: async (chain) => {
      up()
      return chains.get(chain)
    },
    chains: async (after, limit) =>
      [...chains.values()]
        .filter(({ chain }) => chain > after)
        .sort((a, b) => a.chain - b.chain)
        .slice(0, limit),
    async purge(chain, from, to) {
      for (let id = from; id <= to; id++) entries.delete(id)
      chains.set(chain.chain, chain)
    },
    async dropChain(chain, register) {
      chains.delete(chain)
      chains.set(registerChain, register)
    },
  }
  return Object.assign(control, store, {
    allChains: () => [...chains.values()].filter(({ chain }) => chain !== registerChain),
    setChain: (chain: Chain) => void chains.set(chain.chain, chain),
    removeChain: (chain: number) => void chains.delete(chain),
    alterEntry: (id: number, facts: Partial<AuditEntry>) => void entries.set(id, { ...(entries.get(id) as AuditEntry), ...facts }),
    removeEntry: (id: number) => void entries.delete(id),
  })
}
