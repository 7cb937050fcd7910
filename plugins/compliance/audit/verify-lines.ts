import { keptSince } from './age.js'
import { type Chain, registerChain } from './chain.js'
import { idOf } from './entry.js'
import type { Faults } from './faults.js'
import { type Checkpoint, contradiction } from './places/checkpoint.js'
import type { Witness } from './places/witness.js'
import { missingEntriesText, type VerifyOptions } from './verify-chain.js'

/** Maximum number of rows of chains kept between steps. */
const mostRows = 10_000

/**
 * Compares each checkpoint that a witness has with the tables, so that no number of others hides one. Of a chain that is known to have a
 * fault, no further one is reported.
 */
export async function compareLines(options: VerifyOptions, witness: Witness, faults: Faults): Promise<void> {
  const { signal, store } = options
  if (witness.lines === undefined) return
  const rows = new Map<number, Chain | undefined>()
  let register = await store.chain(registerChain)
  for await (const lines of witness.lines(signal)) {
    if (register === undefined) return
    if (rows.size > mostRows) rows.clear()
    const left = lines.filter(({ chain }) => chain > 0 && chain <= (register?.entries ?? 0) && !faults.has(chain))
    for (const { chain } of left) if (!rows.has(chain)) rows.set(chain, await store.chain(chain))
    if (left.some(({ chain }) => rows.get(chain) === undefined)) register = await store.chain(registerChain)
    const hashes = await store.hashes([...new Set(left.flatMap((line) => idToCompare(rows.get(line.chain), line)))])
    for (const line of left) {
      if (faults.has(line.chain)) continue
      const compared = { chain: rows.get(line.chain), hash: hashes.get(idOf(line.chain, line.entries)) }
      let why = faultOf(options, witness, line, { ...compared, register })
      if (why !== undefined) {
        // The line may be newer than the row.
        compared.chain = await store.chain(line.chain)
        rows.set(line.chain, compared.chain)
        why = faultOf(options, witness, line, { ...compared, register })
      }
      if (why !== undefined) faults.add(why.id, why.problem)
    }
  }
}

function idToCompare(chain: Chain | undefined, { entries }: Checkpoint): readonly number[] {
  return chain === undefined || entries <= chain.purged || entries > chain.entries ? [] : [idOf(chain.chain, entries)]
}

interface Compared {
  readonly chain: Chain | undefined
  /** Hash of the last entry of the checkpoint; undefined if it was deleted. */
  readonly hash: string | undefined
  readonly register: Chain | undefined
}

function faultOf(
  { keys, retention }: VerifyOptions,
  { name }: Witness,
  line: Checkpoint,
  { chain, hash, register }: Compared,
): { readonly id: number; readonly problem: string } | undefined {
  const number = line.chain
  // A chain that is missing without being deleted is found where the chains are read.
  if (chain === undefined && number > (register?.purged ?? 0)) return undefined
  const { fresh } = line
  const purged = chain?.purged ?? line.entries
  if (fresh !== undefined && purged > fresh.after && fresh.since >= keptSince(retention, fresh.days)) {
    const { after, since } = fresh
    const what = missingEntriesText(idOf(number, after + 1), idOf(number, Math.min(purged, line.entries)))
    const problem = `${what}, but cannot have been deleted by retention: ${name} knows that they were written after ${new Date(since).toISOString()}`
    return { id: idOf(number, after + 1), problem }
  }
  if (chain === undefined) return undefined
  const why = contradiction(chain, line, name, keys.ageOf)
  if (why !== undefined) return { id: idOf(number, Math.max(1, chain.entries)), problem: `chain ${number} ${why}` }
  const id = idOf(number, line.entries)
  if (line.entries <= chain.purged || hash === undefined || hash === line.lastHash) return undefined
  return { id, problem: `entry ${id} is not the one that ${name} knows: the chain was rewritten` }
}
