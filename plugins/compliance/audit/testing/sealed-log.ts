import { fakeClock, memoryLogger } from 'zin/testing'
import { type DerivedKey, type KeyRing, keysFor } from '../../keys.js'
import { purgeAudit } from '../../retention/purge-audit.js'
import { type Chain, newChain, registerChain, withHead, withoutStart } from '../chain.js'
import { type AuditEntry, type AuditFacts, entryOf, hashOf, idOf, noHash } from '../entry.js'
import type { Checkpoint } from '../places/checkpoint.js'
import { Checkpoints } from '../places/checkpoints.js'
import { Publisher } from '../places/publisher.js'
import { SecondPlace } from '../places/second-place.js'
import type { Witness } from '../places/witness.js'
import { sealAgain } from '../seal-again.js'
import { verifyAudit } from '../verify.js'
import { AuditWriter } from '../writer.js'
import { memoryAudit } from './memory-audit.js'
import { memoryKv } from './memory-kv.js'

/** Keys of an app: the current one, and earlier ones, newest first. */
export const ringOf = (current: string, ...earlier: readonly string[]): KeyRing =>
  keysFor('audit', { APP_KEY: current.repeat(32), APP_KEY_BK: JSON.stringify(earlier.map((one) => one.repeat(32))) })

export const factsOf = (at: number): AuditFacts => ({
  at,
  action: 'desk.sort',
  target: `desk:${at}`,
  outcome: 'asked',
  actor: 'user:marker-4711',
  device: null,
  via: 'http',
  before: null,
  after: null,
  reason: null,
  address: null,
  requestId: null,
  ref: null,
})

export type SealedLog = ReturnType<typeof sealedLog>

/** An audit log with kv, in memory. Each process writes one chain; `keys` are those of the processes that start from then on. */
export function sealedLog(first: KeyRing) {
  const store = memoryAudit()
  const kv = memoryKv()
  const place = new SecondPlace(kv)
  const log = memoryLogger()
  const clock = fakeClock()
  let nodes = 0
  const parts = { keys: first }

  /** Starts a process; `also` gets its seals, too. */
  const start = (also: (chain: Chain, checkpoint: Checkpoint) => void = () => undefined) => {
    const checkpoints = new Checkpoints(90)
    const own = new SecondPlace(kv)
    const save = new Publisher({
      place: own.name,
      save: (checkpoint) => own.save(checkpoint),
      everyMs: 250,
      deadlineMs: 3_000,
      clock,
      log,
      onState: () => undefined,
    })
    const onSeal = (chain: Chain, entries: readonly AuditEntry[]): void => {
      const checkpoint = checkpoints.next(chain, entries)
      save.put(checkpoint)
      also(chain, checkpoint)
    }
    const node = `node-${++nodes}`
    const writer = new AuditWriter({ store, keys: parts.keys, node, clock, log, backlog: 1_000, onState: () => undefined, onSeal })
    return {
      node,
      publisher: save,
      async write(entries: number): Promise<void> {
        for (let number = 1; number <= entries; number++) writer.put(factsOf(number))
        await writer.flush()
        await save.flush()
      },
      async stop(): Promise<void> {
        await writer.close()
        await save.close()
      },
    }
  }

  return Object.assign(parts, {
    store,
    kv,
    place,
    log,
    start,
    /** Writes a chain with entries in a process that then stops. */
    async chain(entries: number): Promise<void> {
      const process = start()
      await process.write(entries)
      await process.stop()
    },
    /** The row of a chain. */
    row: async (chain: number) => (await store.chain(chain)) as Chain,
    /** Verifies on a day since 1970, with a retention of some days. */
    verifyOn: (day: number, days: number, witnesses: readonly Witness[] = [place]) =>
      verifyAudit({ store, keys: parts.keys, witnesses, retention: { now: day * 86_400_000, days } }),
    verify: (witnesses = [place] as Parameters<typeof verifyAudit>[0]['witnesses'], keys = parts.keys) =>
      verifyAudit({ store, keys, ...(witnesses === undefined ? {} : { witnesses }) }),
    sealAgain: (alive: readonly string[] = []) =>
      sealAgain({ store, keys: parts.keys, place, alive: new Set(alive), now: clock.now() + 3_600_000, steps: 1_000 }),
  })
}

/** Appends entries to a chain as someone who has a key can: with valid hashes and a valid seal. */
export async function append(log: SealedLog, chain: Chain, key: DerivedKey, count: number, at = 4711): Promise<void> {
  let { entries, lastHash } = chain
  for (let number = 0; number < count; number++) {
    entries += 1
    const id = idOf(chain.chain, entries)
    lastHash = hashOf(key.key, lastHash, id, factsOf(at))
    log.store.addEntry(entryOf(factsOf(at), id, lastHash))
  }
  log.store.setChain(withHead(key, chain, { entries, lastHash }))
}

/** Removes entries from the start of a chain as retention does, as someone can who has the current key and writes the tables. */
export async function remove({ keys, row, store }: SealedLog, chain: number, purged: number): Promise<void> {
  const [last] = await store.entries({ after: idOf(chain, purged) - 1, to: idOf(chain, purged), limit: 1 })
  const start = withoutStart(keys.current, await row(chain), { purged, purgedHash: last?.hash ?? '' })
  await store.purge(start, idOf(chain, 1), idOf(chain, purged))
}

/** Removes the first chains, with all their entries, in the same way. */
export async function removeChains({ keys, row, store }: SealedLog, last: number): Promise<void> {
  for (let chain = 1; chain <= last; chain++) {
    const { entries, opening } = await row(chain)
    for (let number = 1; number <= entries; number++) store.removeEntry(idOf(chain, number))
    await store.dropChain(chain, withoutStart(keys.current, await row(registerChain), { purged: chain, purgedHash: opening }))
  }
}

/** Deletes entries as retention does. @param before ms since 1970; those of the log have the times 1, 2, … */
export const purge = ({ keys, place, store }: SealedLog, before: number) =>
  purgeAudit({ store, keys, place, before, alive: new Set(), steps: 100 })

/** Replaces the first chain, the only one, by one with two more entries, as someone who has the current key can. */
export async function rewrite(log: SealedLog): Promise<void> {
  const { current } = log.keys
  const { entries, node, openedAt } = await log.row(1)
  const first = newChain(current, noHash, { chain: 1, node, openedAt })
  const register = newChain(current, '', { chain: registerChain, node: 'register', openedAt })
  log.store.setChain(withHead(current, register, { entries: 1, lastHash: first.opening }))
  for (let number = 1; number <= entries; number++) log.store.removeEntry(idOf(1, number))
  await append(log, { ...first, counter: 9 }, current, entries + 2)
}
