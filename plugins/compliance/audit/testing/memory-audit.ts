import { type Chain, registerChain } from '../chain.js'
import { type AuditEntry, lastChain } from '../entry.js'
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
    async append(added, { chain, closed, counter, entries: length, lastHash, previousSeal, seal, sealKeyId }) {
      up()
      for (const entry of added) if (!entries.has(entry.id)) entries.set(entry.id, entry)
      const head = { closed, counter, entries: length, lastHash, previousSeal, seal, sealKeyId }
      chains.set(chain, { ...(chains.get(chain) as Chain), ...head })
    },
    list: async (_query, { limit, offset }) => [...entries.values()].reverse().slice(offset, offset + limit),
    count: async () => entries.size,
    entries: async ({ after, limit, to }) => range(after, to).slice(0, limit),
    impossible: async () => {
      const id = [...entries.keys()].find((one) => one < 1 || !Number.isSafeInteger(one))
      if (id !== undefined) return `an entry with the id ${id} was added: the log has no such ids`
      const chain = [...chains.keys()].find((one) => one < registerChain || one > lastChain || !Number.isInteger(one))
      return chain === undefined ? undefined : `a chain with the number ${chain} was added: the log has no such numbers`
    },
    hashes: async (ids) => new Map(ids.flatMap((id) => (entries.has(id) ? [[id, (entries.get(id) as AuditEntry).hash] as const] : []))),
    chain: async (chain) => {
      up()
      return chains.get(chain)
    },
    chains: async (after, limit) =>
      [...chains.values()]
        .filter(({ chain }) => chain > after && chain <= lastChain && Number.isInteger(chain))
        .sort((a, b) => a.chain - b.chain)
        .slice(0, limit),
    async replaceSeals(read, sealed) {
      if (chains.get(read.chain)?.seal !== read.seal) return false
      chains.set(read.chain, sealed)
      return true
    },
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
    /** Returns a function that sets both tables back to what they contain now, as a restored backup does. */
    copy: () => {
      const [oldEntries, oldChains] = [[...entries], [...chains]]
      return (): void => {
        entries.clear()
        chains.clear()
        for (const [id, entry] of oldEntries) entries.set(id, entry)
        for (const [number, chain] of oldChains) chains.set(number, chain)
      }
    },
    addEntry: (entry: AuditEntry) => void entries.set(entry.id, entry),
    allChains: () => [...chains.values()].filter(({ chain }) => chain !== registerChain),
    setChain: (chain: Chain) => void chains.set(chain.chain, chain),
    removeChain: (chain: number) => void chains.delete(chain),
    alterEntry: (id: number, facts: Partial<AuditEntry>) => void entries.set(id, { ...(entries.get(id) as AuditEntry), ...facts }),
    removeEntry: (id: number) => void entries.delete(id),
  })
}
